package main

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
)

func TestChildrenThatHaveEndedAreReaped(t *testing.T) {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	defer signal.Stop(ended)
	child := exec.Command("true")
	if err := child.Start(); err != nil {
		t.Skip(err)
	}
	<-ended
	reap()
	if _, err := syscall.Wait4(child.Process.Pid, nil, syscall.WNOHANG, nil); err != syscall.ECHILD {
		t.Errorf("the child is still there: %v", err)
	}
}
