# many models with and without the forgotten clients, trained here: no history is read or kept
rule audit:
    input:
        unpack(TARGETS.inputs("audit")),
    output:
        TARGETS.outputs("audit"),
    log:
        TARGETS.log("audit"),
    priority: 10  # long, and nothing waits for it
    threads: RUN.threads
    resources:
        gpu=GPU,
    params:
        options=TARGETS.options("audit"),
        settings=TARGETS.settings("audit"),
        code=TARGETS.code("audit"),
    shell:
        "{PY:q} -m sifu audit_block" + BLOCK + DEVICE + LOGGED
