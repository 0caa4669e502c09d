rule verify:
    input:
        unpack(TARGETS.inputs("verify")),
    output:
        TARGETS.outputs("verify"),
    log:
        TARGETS.log("verify"),
    priority: 14  # weights stay on the machine: a scenario is worth nothing before this
    threads: RUN.threads
    resources:
        gpu=GPU,
    params:
        options=TARGETS.options("verify"),
        settings=TARGETS.settings("verify"),
        code=TARGETS.code("verify"),
    shell:
        "{PY:q} -m sifu verify" + BLOCK + DEVICE + LOGGED
