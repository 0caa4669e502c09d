rule unlearn:
    input:
        unpack(TARGETS.inputs("unlearn")),
    output:
        TARGETS.outputs("unlearn"),
    log:
        TARGETS.log("unlearn"),
    threads: RUN.threads
    resources:
        gpu=GPU,
    params:
        options=TARGETS.options("unlearn"),
        settings=TARGETS.settings("unlearn"),
        code=TARGETS.code("unlearn"),
    shell:
        "{PY:q} -m sifu unlearn" + BLOCK + DEVICE + LOGGED
