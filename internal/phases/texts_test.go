package phases
