"""Pods of the manifests in deploy/kubernetes as processes of this machine.

What a pod is made of comes from the YAML alone: its init container, its command line and
environment, its volumes, its probes, who it runs as, and how long it may take to stop. A container
is a process with a network of its own, a read-only root made of this machine's /usr, and no more
rights than the security context leaves it. A pod gets a new address at each start, and keeps its
name.

What is not emulated: the scheduler, admission, network policy, storage classes.

Runs inside namespaces that `enter_namespaces` makes, so that nothing outlives the test.
"""

import glob
import os
import re
import shutil
import subprocess
import sys

import yaml

from local_cluster import WAIT_SECONDS, wait_until

NAMESPACE = "quorum-test"
SUBNET = "10.99.0"


def enter_namespaces():
    """Starts this program again in namespaces of its own, once; its children end with it."""
    if os.environ.get("QUORUM_PODS") == "1":
        return
    command = ["unshare", "--mount", "--net", "--pid", "--fork", "--mount-proc", "--kill-child"]
    if os.geteuid() != 0:
        command += ["--user", "--map-root-user"]
    environment = dict(os.environ, QUORUM_PODS="1")
    os.execvpe("unshare", command + [sys.executable, "-B"] + sys.argv, environment)


def run(*words, **settings):
    return subprocess.run(words, check=True, **settings)


class Manifests:
    """The documents of a folder, by kind and name."""

    def __init__(self, folder):
        self.objects = {}
        for path in sorted(glob.glob(os.path.join(folder, "*.yaml"))):
            with open(path, encoding="utf-8") as stream:
                for document in yaml.safe_load_all(stream):
                    self.objects[document["kind"], document["metadata"]["name"]] = document

    def get(self, kind, name):
        return self.objects.get((kind, name))


def entry_point(dockerfile):
    """The words of ENTRYPOINT."""
    with open(dockerfile, encoding="utf-8") as stream:
        words = re.search(r"^ENTRYPOINT (\[.*\])$", stream.read(), re.MULTILINE).group(1)
    return yaml.safe_load(words)


class Pod:
    """One pod: a container that may run, and a volume that stays."""

    def __init__(self, kubelet, index):
        self.kubelet = kubelet
        self.index = index
        self.name = f"{kubelet.stateful_set['metadata']['name']}-{index}"
        self.folder = os.path.join(kubelet.folder, self.name)
        self.volume = os.path.join(self.folder, "volume")
        self.log = os.path.join(self.folder, "log")
        self.address = None
        self.process = None
        self._pause = None
        self._veth = None
        self._root = None
        os.makedirs(self.folder)
        self.new_volume()

    def new_volume(self):
        """A blank disk, as a file system and the kubelet leave it: group of the pod, set-gid."""
        shutil.rmtree(self.volume, ignore_errors=True)
        os.makedirs(os.path.join(self.volume, "lost+found"), mode=0o700)
        self.kubelet.own(self.volume)

    # --- the spec, resolved ---

    def environment(self, container):
        values = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOSTNAME": self.name}
        fields = {
            "metadata.name": self.name,
            "metadata.namespace": NAMESPACE,
            "metadata.labels['apps.kubernetes.io/pod-index']": str(self.index),
        }
        for entry in container.get("env", []):
            if "value" in entry:
                values[entry["name"]] = entry["value"]
                continue
            source = entry["valueFrom"]
            if "fieldRef" in source:
                values[entry["name"]] = fields[source["fieldRef"]["fieldPath"]]
            else:
                key = source["configMapKeyRef"]
                config = self.kubelet.manifests.get("ConfigMap", key["name"])
                values[entry["name"]] = config["data"][key["key"]]
        return values

    def words(self, container):
        """Command and arguments, with $(NAME) replaced as the kubelet does it."""
        environment = self.environment(container)
        command = container.get("command", self.kubelet.entry_point)
        return [
            re.sub(r"\$\((\w+)\)", lambda match: environment[match.group(1)], word)
            for word in command + container.get("args", [])
        ]

    # --- its life ---

    def start(self):
        """Runs the init containers to their end, then the container. Returns what they printed."""
        assert self.process is None
        self._join_network()
        printed = ""
        for container in self.kubelet.pod_spec["initContainers"]:
            done = self._spawn(container, subprocess.PIPE)
            output, _ = done.communicate(timeout=WAIT_SECONDS)
            printed += output.decode()
            if done.returncode != 0:
                raise AssertionError(f"{container['name']} ended with {done.returncode}: {printed}")
        with open(self.log, "ab") as log:
            self.process = self._spawn(self.kubelet.pod_spec["containers"][0], log)
        return printed

    def delete(self):
        """SIGTERM, the grace period, SIGKILL. Returns the exit code."""
        self.process.terminate()
        try:
            code = self.process.wait(self.kubelet.pod_spec["terminationGracePeriodSeconds"])
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self._leave_network()
        self.process = None
        return code

    def kill(self):
        self.process.kill()
        self.process.wait()
        self._leave_network()
        self.process = None

    def await_exit(self):
        """The exit code of a container that ends by itself."""
        code = self.process.wait(WAIT_SECONDS)
        self._leave_network()
        self.process = None
        return code

    def execute(self, *words):
        """What a program prints that runs in the container, as `kubectl exec` starts it."""
        command = self._inside(self.kubelet.pod_spec["containers"][0], self._root)
        done = subprocess.run(
            command + list(words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
            env={"PATH": "/usr/local/bin:/usr/bin:/bin"}, timeout=WAIT_SECONDS,
        )
        assert done.returncode == 0, done.stdout.decode()
        return done.stdout.decode()

    def probe(self, kind):
        """What the named probe of the manifest says now."""
        grpc_probe = self.kubelet.pod_spec["containers"][0][kind]["grpc"]
        return self.kubelet.check(f"{self.address}:{grpc_probe['port']}", grpc_probe["service"])

    def await_ready(self):
        def ready():
            if self.process.poll() is not None:
                raise AssertionError(f"{self.name} ended with {self.process.returncode}")
            return all(self.probe(kind) for kind in ("startupProbe", "livenessProbe")) and (
                self.probe("readinessProbe")
            )

        wait_until(f"{self.name} is ready", ready)

    # --- network and root ---

    def _join_network(self):
        self.address = self.kubelet.new_address()
        self._pause = subprocess.Popen(["unshare", "--net", "cat"], stdin=subprocess.PIPE)
        pid = self._pause.pid
        own = os.readlink("/proc/self/ns/net")
        wait_until("the pod has a network", lambda: os.readlink(f"/proc/{pid}/ns/net") != own)
        self._veth = "pod" + self.address.rsplit(".", 1)[1]
        run("ip", "link", "add", self._veth, "type", "veth", "peer", "eth0", "netns", str(pid))
        run("ip", "link", "set", self._veth, "master", "pods", "up")
        inside = ["nsenter", f"--net=/proc/{pid}/ns/net", "ip"]
        run(*inside, "address", "add", f"{self.address}/24", "dev", "eth0")
        run(*inside, "link", "set", "eth0", "up")
        run(*inside, "link", "set", "lo", "up")
        self.kubelet.write_hosts()

    def _leave_network(self):
        self._pause.kill()
        self._pause.wait()
        # The network may have gone with its last process already, and the link with it.
        subprocess.run(["ip", "link", "delete", self._veth], stderr=subprocess.DEVNULL, check=False)
        self.address = None
        self.kubelet.write_hosts()

    def _inside(self, container, root):
        """What starts a program in the network and root of the container."""
        words = ["nsenter", f"--net=/proc/{self._pause.pid}/ns/net", "/usr/sbin/chroot", root]
        return words + self.kubelet.confined(container)

    def _spawn(self, container, output):
        self._root = self.kubelet.make_root(self, container)
        return subprocess.Popen(
            self._inside(container, self._root) + self.words(container),
            env=self.environment(container),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )


class Kubelet:
    """Runs the pods of the one StatefulSet; `programs` lie in the image's /usr/local/bin."""

    def __init__(self, folder, manifests, dockerfile, programs, check):
        self.folder = folder
        self.manifests = manifests
        self.check = check
        self.entry_point = entry_point(dockerfile)
        self.programs = programs
        self.stateful_set = manifests.get("StatefulSet", "quorum")
        self.pod_spec = self.stateful_set["spec"]["template"]["spec"]
        self.hosts = os.path.join(folder, "hosts")
        self._next_address = 10
        self._roots = 0
        self.pods = {}
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "pods", "type", "bridge")
        run("ip", "address", "add", f"{SUBNET}.1/24", "dev", "pods")
        run("ip", "link", "set", "pods", "up")
        self.write_hosts()

    def scale(self, replicas):
        first = self.stateful_set["spec"]["ordinals"]["start"]
        for index in range(first, first + replicas):
            if index not in self.pods:
                self.pods[index] = Pod(self, index)

    def new_address(self):
        self._next_address += 1
        return f"{SUBNET}.{self._next_address}"

    def write_hosts(self):
        """The names that the headless service gives the pods; ready or not, as it says."""
        service = self.stateful_set["spec"]["serviceName"]
        assert self.manifests.get("Service", service)["spec"]["publishNotReadyAddresses"]
        lines = ["127.0.0.1 localhost"]
        for pod in self.pods.values():
            if pod.address is not None:
                lines.append(f"{pod.address} {pod.name}.{service}.{NAMESPACE}.svc")
        # In place: containers see this very file.
        with open(self.hosts, "w", encoding="utf-8") as stream:
            stream.write("\n".join(lines) + "\n")

    def own(self, volume):
        """What fsGroup does to a volume."""
        group = self.pod_spec["securityContext"]["fsGroup"]
        if self.may_change_user():
            os.chown(volume, 0, group)
        os.chmod(volume, 0o2775)

    @staticmethod
    def may_change_user():
        """False in a user namespace that holds one user only."""
        with open("/proc/self/uid_map", encoding="utf-8") as stream:
            return int(stream.read().split()[2]) > 1

    def confined(self, container):
        """The rights that the security contexts leave."""
        security = container["securityContext"]
        assert security["capabilities"]["drop"] == ["ALL"] and not security[
            "allowPrivilegeEscalation"
        ]
        words = ["/usr/bin/setpriv", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"]
        context = self.pod_spec["securityContext"]
        assert context["runAsNonRoot"]
        if self.may_change_user():
            words += [f"--reuid={context['runAsUser']}", f"--regid={context['runAsGroup']}"]
            words += [f"--groups={context['fsGroup']}"]
        return words + ["--"]

    def make_root(self, pod, container):
        """A root folder of the container: this machine's /usr, and the volumes that it mounts."""
        self._roots += 1
        root = os.path.join(self.folder, f"root-{self._roots}")
        os.makedirs(root)
        run("mount", "-t", "tmpfs", "tmpfs", root)
        for name in ("bin", "sbin", "lib", "lib64"):
            os.symlink(f"usr/{name}", os.path.join(root, name))
        for name in ("usr", "proc", "dev", "tmp", "etc"):
            os.makedirs(os.path.join(root, name))
        for source in ("/usr", "/proc", "/dev"):
            self._bind(source, root + source)
        run("mount", "-t", "tmpfs", "tmpfs", root + "/usr/local/bin")
        for program in self.programs:
            shutil.copy(program, root + "/usr/local/bin/")
        with open(root + "/etc/nsswitch.conf", "w", encoding="utf-8") as stream:
            stream.write("hosts: files\n")
        with open(root + "/etc/hosts", "w", encoding="utf-8"):
            pass
        self._bind(self.hosts, root + "/etc/hosts")
        for mount in container["volumeMounts"]:
            os.makedirs(root + mount["mountPath"])
            self._bind(self._volume(pod, mount["name"]), root + mount["mountPath"])
        if container["securityContext"]["readOnlyRootFilesystem"]:
            for place in ("", "/usr", "/usr/local/bin"):
                run("mount", "-o", "remount,bind,ro", root + place)
        return root

    def remove_roots(self):
        """Takes away what make_root mounted, once all containers have ended."""
        for number in range(1, self._roots + 1):
            run("umount", "-l", os.path.join(self.folder, f"root-{number}"))

    @staticmethod
    def _bind(source, target):
        # With what is mounted below it: a part of that may not be uncovered.
        run("mount", "--rbind", source, target)

    def _volume(self, pod, name):
        """The folder behind a volume of the pod."""
        claims = self.stateful_set["spec"]["volumeClaimTemplates"]
        if name in [claim["metadata"]["name"] for claim in claims]:
            return pod.volume
        volume = next(entry for entry in self.pod_spec["volumes"] if entry["name"] == name)
        config = self.manifests.get("ConfigMap", volume["configMap"]["name"])
        assert config is not None or volume["configMap"].get("optional"), name
        folder = os.path.join(pod.folder, f"config-{self._roots}-{name}")
        os.makedirs(folder)
        for key, text in (config or {"data": {}})["data"].items():
            with open(os.path.join(folder, key), "w", encoding="utf-8") as stream:
                stream.write(text)
        return folder
