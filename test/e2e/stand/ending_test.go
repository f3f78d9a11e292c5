package stand

import (
	"bufio"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/journal"
)

// A run that a test has left behind is ended by the number in its lock; the holder of a lock that is another program is
// left alone.
func TestEndRuns(t *testing.T) {
	if state := os.Getenv("EGGO_TEST_HOLDS"); state != "" { // the process that is to be ended
		c, err := journal.Open(state, "rack")
		if err == nil {
			_, err = c.Lock(journal.Holder{PID: os.Getpid(), Verb: "deploy", Since: time.Now()})
		}
		_, _ = os.Stdout.WriteString("held\n")
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // until the test ends
		t.Fatal(err)
	}
	state := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestEndRuns$")
	cmd.Env = append(os.Environ(), "EGGO_TEST_HOLDS="+state)
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "held\n" {
		t.Fatal(line, err)
	}
	if err := endRuns(t.Context(), state, "/another/program"); err == nil {
		t.Error("another program's process counts as a run")
	}
	c, err := journal.At(state, "rack")
	if err != nil || !c.Busy() {
		t.Fatal("it was ended: ", err)
	}
	if err := endRuns(t.Context(), state, "/another/program", self); err != nil || c.Busy() {
		t.Error(err)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.String() != "signal: killed" {
		t.Error(cmd.ProcessState)
	}
	if err := endRuns(t.Context(), state, self); err != nil { // nobody is there
		t.Error(err)
	}
}
