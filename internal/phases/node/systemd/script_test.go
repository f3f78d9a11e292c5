package systemd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// One call of systemctl answers for all units; without an answer nothing is known of them.
func TestTheStateOfSeveralUnits(t *testing.T) {
	bin := t.TempDir()
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", os.Getpid()))
	if err != nil {
		t.Skip(err)
	}
	states := fmt.Sprintf("MainPID=%d\nActiveState=active\n\nMainPID=0\nActiveState=inactive\n\nActiveState=failed\n",
		os.Getpid())
	for says, want := range map[string]string{
		"printf '" + states + "'": "unit=a active\nruns=a " + exe + "\nunit=b inactive\nunit=c failed\n",
		"echo no bus >&2; exit 1": "unit=a unknown\nunit=b unknown\nunit=c unknown\n",
	} {
		if err := os.WriteFile(filepath.Join(bin, "systemctl"), []byte("#!/bin/sh\n"+says+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "sh", "-euc", StatusScript("a.service", "b.service", "c.service"))
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != want {
			t.Errorf("%s %v", out, err)
		}
	}
}
