rule train:
    input:
        unpack(TARGETS.inputs("train")),
    output:
        TARGETS.outputs("train"),
    log:
        TARGETS.log("train"),
    priority: 20  # most others wait for it
    threads: RUN.threads
    resources:
        gpu=GPU,
    params:
        options=TARGETS.options("train"),
        settings=TARGETS.settings("train"),
        code=TARGETS.code("train"),
    shell:
        "{PY:q} -m sifu train" + BLOCK + DEVICE + LOGGED


# a method that must be there from the start: its federation is trained for it alone
rule train_variant:
    input:
        unpack(TARGETS.inputs("train_variant")),
    output:
        TARGETS.outputs("train_variant"),
    log:
        TARGETS.log("train_variant"),
    priority: 20
    threads: RUN.threads
    resources:
        gpu=GPU,
    params:
        options=TARGETS.options("train_variant"),
        settings=TARGETS.settings("train_variant"),
        code=TARGETS.code("train_variant"),
    shell:
        "{PY:q} -m sifu train" + BLOCK + DEVICE + LOGGED
