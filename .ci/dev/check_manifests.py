#!/usr/bin/python3 -B
"""Checks Kubernetes manifests against the schemas of Kubernetes: check_manifests.py TOOLS FILE...

TOOLS is the folder with the npm packages `kubernetes-models` and `typescript`. The first finds
missing fields and wrong values; the second, given each document as a literal of its type, finds
fields that do not exist. Before that the check is shown three broken documents, which it must
refuse; a check that refuses nothing is worth nothing.
"""

import copy
import json
import os
import subprocess
import sys
import tempfile

import yaml

VALIDATE = """
import { readFileSync } from "node:fs";
const verdicts = [];
for (const document of JSON.parse(readFileSync(0, "utf8"))) {
  const { apiVersion, kind } = document;
  const model = (await import(`kubernetes-models/${apiVersion}/${kind}`))[kind];
  try {
    new model(document).validate();
    verdicts.push("");
  } catch (error) {
    verdicts.push(error.message);
  }
}
console.log(JSON.stringify(verdicts));
"""


def broken_documents(good):
    """What the check must refuse: a type, a missing field, a field that does not exist."""
    wrong_type, missing, unknown = (copy.deepcopy(good) for _ in range(3))
    wrong_type["spec"]["replicas"] = "three"
    del missing["spec"]["selector"]
    unknown["spec"]["template"]["spec"]["containers"][0]["livenesProbe"] = {}
    return [wrong_type, missing, unknown]


def validator_verdicts(folder, documents):
    """An empty text for each document that the validators accept, else what is wrong with it."""
    done = subprocess.run(
        ["node", "--input-type=module", "-e", VALIDATE],
        input=json.dumps(documents).encode(),
        stdout=subprocess.PIPE,
        cwd=folder,
        check=True,
    )
    return json.loads(done.stdout)


def compiler_verdicts(folder, documents):
    """As validator_verdicts: what the TypeScript compiler says of each document."""
    names = []
    for number, document in enumerate(documents):
        kind = document["kind"]
        names.append(f"document{number:03}.ts")
        with open(os.path.join(folder, names[-1]), "w", encoding="utf-8") as stream:
            stream.write(
                f'import {{ I{kind} }} from "kubernetes-models/{document["apiVersion"]}/{kind}";\n'
                f"export const document: I{kind} = {json.dumps(document, indent=1)};\n"
            )
    words = ["node", "node_modules/typescript/bin/tsc", "--noEmit", "--strict", "--skipLibCheck"]
    words += ["--target", "es2020", "--module", "esnext", "--moduleResolution", "bundler"]
    words += ["--pretty", "false"]
    done = subprocess.run(words + names, cwd=folder, stdout=subprocess.PIPE, check=False)
    lines = done.stdout.decode().splitlines()
    return ["\n".join(line for line in lines if line.startswith(name)) for name in names]


def main():
    tools, paths = sys.argv[1], sys.argv[2:]
    documents, names = [], []
    for path in paths:
        with open(path, encoding="utf-8") as stream:
            for document in yaml.safe_load_all(stream):
                documents.append(document)
                names.append(f"{path}: {document['kind']} {document['metadata']['name']}")
    sets = [document for document in documents if document["kind"] == "StatefulSet"]
    broken = broken_documents(sets[0])
    everything = documents + broken
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.join(tools, "node_modules"), os.path.join(folder, "node_modules"))
        pairs = zip(validator_verdicts(folder, everything), compiler_verdicts(folder, everything))
        verdicts = ["\n".join(filter(None, pair)) for pair in pairs]
    failed = [f"{name}\n{verdict}" for name, verdict in zip(names, verdicts) if verdict]
    if not all(verdicts[len(documents):]):
        failed.append("a broken document was accepted: the check does not work")
    print("\n".join(failed) or f"{len(documents)} documents")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
