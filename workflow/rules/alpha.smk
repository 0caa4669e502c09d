rule alpha:
    input:
        unpack(TARGETS.inputs("alpha")),
    output:
        TARGETS.outputs("alpha"),
    log:
        TARGETS.log("alpha"),
    threads: RUN.threads
    resources:
        gpu=GPU,
    params:
        options=TARGETS.options("alpha"),
        settings=TARGETS.settings("alpha"),
        code=TARGETS.code("alpha"),
    shell:
        "{PY:q} -m sifu alpha" + BLOCK + DEVICE + LOGGED


# trainings with other hyper-parameters, some of which never reach the target: only the table is kept
rule alpha_sweep:
    input:
        unpack(TARGETS.inputs("alpha_sweep")),
    output:
        TARGETS.outputs("alpha_sweep"),
    log:
        TARGETS.log("alpha_sweep"),
    threads: RUN.threads
    resources:
        gpu=GPU,
    params:
        options=TARGETS.options("alpha_sweep"),
        settings=TARGETS.settings("alpha_sweep"),
        code=TARGETS.code("alpha_sweep"),
    shell:
        "{PY:q} -m sifu alpha_sweep" + BLOCK + DEVICE + LOGGED
