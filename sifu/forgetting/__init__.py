"""What forgetting is, measured with many models: functions of margins [N, P] of N models on P points. No files."""
