"""Tests of the dependency graph itself."""

# The testing flavour with the planted bugs (quorum_cc_library in third_party/defs.bzl).
_PLANTED = "//.*_planted"

def layering_test(name, targets, allowed, planted = False):
    """Fails when one of the targets depends, at any distance, on something that no pattern allows.

    Args:
      name: of the test.
      targets: whose dependencies are looked at.
      allowed: extended regular expressions; each label must match one from its start to its end. Threads of the C
        library and the macros in third_party are allowed to all.
      planted: whether the testing flavour may be among the dependencies.
    """
    native.genquery(
        name = name + "_graph",
        testonly = True,
        # Plain deps() lists the toolchain and the source files of the rules as well.
        expression = "filter('^(//|@(?!bazel_tools|local_config|platforms|rules_))', deps(set(%s)))" % " ".join(targets),
        scope = targets,
    )
    native.sh_test(
        name = name,
        size = "small",
        srcs = ["check_graph.sh"],
        args = ["$(rootpath :%s_graph)" % name] + ([] if planted else ["'--forbid=%s'" % _PLANTED]) + targets + ["--"] + ["'%s'" % pattern for pattern in allowed],
        data = [":" + name + "_graph"],
    )
