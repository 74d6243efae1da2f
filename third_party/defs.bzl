"""The macros that every target of this repository is written with.

    load("//third_party:defs.bzl", "quorum_cc_library", "quorum_cc_test")

They switch the warnings on, make them errors, and check the layering: a source may include only headers of targets
that its own target names in `deps`.
"""

_WARNINGS = [
    "-Wall",
    "-Wextra",
    "-Wshadow",
    "-Wconversion",
    "-Wnon-virtual-dtor",
    "-Wthread-safety",
    "-Werror",
]

# Folder, in a package's part of the output tree, that generated headers are included from.
_GENERATED = "generated"

# Defined in the testing flavour only; see quorum_cc_library.
_PLANTED = "QUORUM_PLANTS=1"

def quorum_cc_library(name, copts = [], features = [], defines = [], planted = False, planted_deps = [], deps = [], **kwargs):
    """A library of ours.

    With planted = True there are two flavours of it: `name`, which the product links, and the testonly `name_planted`,
    compiled with QUORUM_PLANTS=1, which holds the planted bugs that tests switch on at run time. One binary links
    one flavour, never both.

    Args:
      name: of the target.
      copts: beside the warnings.
      features: beside layering_check.
      defines: as in cc_library.
      planted: whether to make the testing flavour too.
      planted_deps: dependencies that have two flavours themselves; each flavour gets the matching one.
      deps: all other dependencies.
      **kwargs: as in cc_library.
    """
    native.cc_library(
        name = name,
        copts = _WARNINGS + copts,
        features = ["layering_check"] + features,
        defines = defines,
        deps = deps + planted_deps,
        **kwargs
    )
    if planted:
        kwargs.pop("testonly", None)
        native.cc_library(
            name = name + "_planted",
            testonly = True,
            copts = _WARNINGS + copts,
            features = ["layering_check"] + features,
            defines = defines + [_PLANTED],
            deps = deps + [_planted_label(label) for label in planted_deps],
            **kwargs
        )

def _planted_label(label):
    if ":" in label:
        return label + "_planted"
    return label + ":" + label.split("/")[-1] + "_planted"

def quorum_cc_binary(name, copts = [], features = [], **kwargs):
    """A program of ours."""
    native.cc_binary(
        name = name,
        copts = _WARNINGS + copts,
        features = ["layering_check"] + features,
        **kwargs
    )

def quorum_cc_test(name, deps = [], copts = [], features = [], size = "small", **kwargs):
    """A GoogleTest program; the test's main, GoogleMock and glog are linked in."""
    native.cc_test(
        name = name,
        size = size,
        copts = _WARNINGS + copts,
        features = ["layering_check"] + features,
        deps = deps + [
            "//tests/main",
            "@system//:glog",
            "@system//:gmock",
        ],
        **kwargs
    )

def quorum_proto_library(name, srcs, deps = [], grpc = False, root = "proto", visibility = None):
    """Compiles schemas into a C++ library, without warnings.

    Imports and includes are rooted at the folder `root`: `import "quorum/v1/record.proto"` and
    `#include "quorum/v1/record.pb.h"` for proto/quorum/v1/record.proto.

    Args:
      name: of the C++ library. `name_protos` is the filegroup of the schemas with all that they import.
      srcs: .proto files of this package.
      deps: other quorum_proto_library targets that the schemas import.
      grpc: whether the schemas hold services; makes `<grpcpp/...>` stubs in record.grpc.pb.h.
      root: folder, relative to the workspace, that imports start from. This package lies in it.
      visibility: as in cc_library.
    """
    package = native.package_name()
    if package != root and not package.startswith(root + "/"):
        fail("%s is not below %s" % (package, root))
    folder = package[len(root) + 1:] + "/" if package != root else ""

    native.filegroup(
        name = name + "_protos",
        srcs = srcs + [_protos_label(label) for label in deps],
        visibility = visibility,
    )
    arguments = ["--cpp_out=$(RULEDIR)/" + _GENERATED]
    if grpc:
        arguments += [
            "--plugin=protoc-gen-grpc=/usr/bin/grpc_cpp_plugin",
            "--grpc_out=$(RULEDIR)/" + _GENERATED,
        ]
    _generated_library(
        name = name,
        stems = [folder + src[:-len(".proto")] for src in srcs],
        srcs = srcs + [_protos_label(label) for label in deps],
        command = " ".join(
            ["protoc", "-I", root, "-I", "/usr/include"] + arguments +
            ["$(locations %s)" % src for src in srcs],
        ),
        grpc = grpc,
        deps = deps,
        visibility = visibility,
    )

def quorum_system_proto_library(name, protos, root, deps = [], grpc = False, visibility = None):
    """Compiles schemas that a Debian package installs below the absolute folder `root`.

    Args:
      name: of the C++ library.
      protos: paths relative to `root`, which are also the paths that `#include` uses.
      root: absolute folder.
      deps: libraries of the schemas that these import.
      grpc: whether to generate services.
      visibility: as in cc_library.
    """
    arguments = ["--cpp_out=$(RULEDIR)/" + _GENERATED]
    if grpc:
        arguments += [
            "--plugin=protoc-gen-grpc=/usr/bin/grpc_cpp_plugin",
            "--grpc_out=$(RULEDIR)/" + _GENERATED,
        ]
    _generated_library(
        name = name,
        stems = [proto[:-len(".proto")] for proto in protos],
        srcs = [],
        command = " ".join(["protoc", "-I", root] + arguments + protos),
        grpc = grpc,
        deps = deps,
        visibility = visibility,
    )

def _protos_label(label):
    if ":" in label:
        return label + "_protos"
    return label + ":" + label.split("/")[-1] + "_protos"

def _generated_library(name, stems, srcs, command, grpc, deps, visibility):
    stems = [_GENERATED + "/" + stem for stem in stems]
    headers = [stem + ".pb.h" for stem in stems]
    sources = [stem + ".pb.cc" for stem in stems]
    if grpc:
        headers += [stem + ".grpc.pb.h" for stem in stems]
        sources += [stem + ".grpc.pb.cc" for stem in stems]
    native.genrule(
        name = name + "_protoc",
        srcs = srcs,
        outs = headers + sources,
        cmd = "mkdir -p $(RULEDIR)/%s && %s" % (_GENERATED, command),
        message = "Compiling schemas",
    )
    native.cc_library(
        name = name,
        srcs = sources,
        hdrs = headers,
        copts = ["-w"],
        # As -isystem, so that what the generator writes is judged by nobody's warnings.
        includes = [_GENERATED],
        deps = deps + (["@system//:grpc++"] if grpc else ["@system//:protobuf"]),
        visibility = visibility,
    )
