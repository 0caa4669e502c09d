rule sweep:
    input:
        unpack(TARGETS.inputs("sweep")),
    output:
        TARGETS.outputs("sweep"),
    log:
        TARGETS.log("sweep"),
    priority: 10  # long, and nothing waits for it
    threads: RUN.threads
    resources:
        gpu=GPU,
    params:
        options=TARGETS.options("sweep"),
        settings=TARGETS.settings("sweep"),
        code=TARGETS.code("sweep"),
    shell:
        "{PY:q} -m sifu sweep" + BLOCK + DEVICE + LOGGED


rule setting_sweep:
    input:
        unpack(TARGETS.inputs("setting_sweep")),
    output:
        TARGETS.outputs("setting_sweep"),
    log:
        TARGETS.log("setting_sweep"),
    priority: 10
    threads: RUN.threads
    resources:
        gpu=GPU,
    params:
        options=TARGETS.options("setting_sweep"),
        settings=TARGETS.settings("setting_sweep"),
        code=TARGETS.code("setting_sweep"),
    shell:
        "{PY:q} -m sifu setting_sweep" + BLOCK + DEVICE + LOGGED


rule request_sets:
    input:
        unpack(TARGETS.inputs("request_sets")),
    output:
        TARGETS.outputs("request_sets"),
    log:
        TARGETS.log("request_sets"),
    priority: 10
    threads: RUN.threads
    resources:
        gpu=GPU,
    params:
        options=TARGETS.options("request_sets"),
        settings=TARGETS.settings("request_sets"),
        code=TARGETS.code("request_sets"),
    shell:
        "{PY:q} -m sifu request_sets" + BLOCK + DEVICE + LOGGED
