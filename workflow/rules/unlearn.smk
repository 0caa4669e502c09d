rule unlearn:
    input:
        unpack(TARGETS.inputs("unlearn")),
    output:
        TARGETS.outputs("unlearn"),
    log:
        TARGETS.log("unlearn"),
    priority: 12  # before the side experiments, so that a run that is cut off has the main one
    threads: RUN.threads
    resources:
        gpu=GPU,
    params:
        options=TARGETS.options("unlearn"),
        settings=TARGETS.settings("unlearn"),
        code=TARGETS.code("unlearn"),
    shell:
        "{PY:q} -m sifu unlearn" + BLOCK + DEVICE + LOGGED
