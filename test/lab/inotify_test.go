package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// inotifyBench is a machine of files with the setting that inotify changes.
type inotifyBench struct {
	*testing.T
	inotify
	open int // instances
	said []string
}

func newInotifyBench(t *testing.T) *inotifyBench {
	d := t.TempDir()
	b := &inotifyBench{T: t}
	var mu sync.Mutex
	b.inotify = inotify{filepath.Join(d, "sysctl"), filepath.Join(d, "run", "record.json"),
		"/proc/sys/kernel/random/boot_id", func() int { return b.open }, func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			b.said = append(b.said, fmt.Sprintf(format, args...))
		}}
	write(t, b.sysctl, "128\n")
	return b
}

func (b *inotifyBench) up(lab string, nodes int) {
	b.Helper()
	if err := b.hold(b.Context(), lab, nodes); err != nil {
		b.Fatal(err)
	}
}

func (b *inotifyBench) down(lab string) {
	b.Helper()
	if err := b.release(b.Context(), lab); err != nil {
		b.Fatal(err)
	}
}

func (b *inotifyBench) is(want int) {
	b.Helper()
	text, err := os.ReadFile(b.sysctl)
	if got := strings.TrimSpace(string(text)); err != nil || got != fmt.Sprint(want) {
		b.Errorf("the setting is %s, not %d (%v)", got, want, err)
	}
}

// supervised makes a lab directory with a node whose supervisor is this test.
func (b *inotifyBench) supervised() string {
	dir := b.TempDir()
	boot, err := os.ReadFile(b.boot)
	if err != nil {
		b.Fatal(err)
	}
	me, err := thisProcess(strings.TrimSpace(string(boot)))
	if err != nil {
		b.Fatal(err)
	}
	write(b.T, filepath.Join(dir, "nodes/n1/supervisor.pid"), fmt.Sprintln(me.pid, me.start, me.boot))
	return dir
}

func TestAFewNodesLeaveTheMachineAlone(t *testing.T) {
	b := newInotifyBench(t)
	b.up("one", 2)
	b.up("two", 1)
	b.is(128)
	b.down("one")
	b.down("two")
	b.is(128)
	if _, err := os.Stat(b.record); !os.IsNotExist(err) || b.said != nil {
		t.Errorf("left: %v, said: %v", err, b.said)
	}
}

func TestManyNodesRaiseTheSettingUntilTheLastLabGoesDown(t *testing.T) {
	b := newInotifyBench(t)
	b.up("one", 3)
	b.up("two", 10)
	b.is(2 * 13 * instancesPerNode)
	b.up("two", 10)
	b.up("three", 20)
	b.is(2 * 33 * instancesPerNode)
	b.down("two")
	b.down("three")
	b.is(2 * 33 * instancesPerNode)
	b.down("one")
	b.is(128)
	if len(b.said) != 3 || !strings.Contains(b.said[0], "128") || !strings.Contains(b.said[2], "back to 128") {
		t.Errorf("said: %q", b.said)
	}
	b.down("one")
	b.is(128)
}

func TestWhatElseRunsOnTheMachineCounts(t *testing.T) {
	b := newInotifyBench(t)
	b.open = 100
	b.up("one", 2)
	b.is(2 * (100 + 2*instancesPerNode))
	b.down("one")
	b.is(128)
}

func TestLabsComeAndGoAtOnce(t *testing.T) {
	b := newInotifyBench(t)
	var all sync.WaitGroup
	for k := range 12 {
		all.Go(func() {
			lab := fmt.Sprint("lab", k)
			if err := b.hold(t.Context(), lab, 4); err != nil {
				t.Error(err)
			}
			if err := b.release(t.Context(), lab); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	b.is(128)
}

func TestALabWhoseProcessesAreGoneHoldsNothing(t *testing.T) {
	b := newInotifyBench(t)
	lives := b.supervised()
	b.up("crashed", 10)
	b.up(lives, 1)
	text, err := os.ReadFile(b.record)
	if err != nil {
		t.Fatal(err)
	}
	me := fmt.Sprintf(`"PID":%d`, os.Getpid())
	write(t, b.record, strings.ReplaceAll(string(text), me, `"PID":999999999`)) // who brought them up has ended
	b.up("new", 1)
	b.down("new")
	b.is(2 * 10 * instancesPerNode)
	b.down(lives)
	b.is(128)
}

func TestARecordOfAnotherBootIsNone(t *testing.T) {
	b := newInotifyBench(t)
	b.up("one", 10)
	b.boot = filepath.Join(t.TempDir(), "boot")
	write(t, b.boot, "another\n")
	write(t, b.sysctl, "200\n")
	b.down("one")
	b.is(200)
}

func TestACrashBetweenRecordAndSettingIsFixed(t *testing.T) {
	b := newInotifyBench(t)
	b.up("one", 10)
	write(t, b.sysctl, "128\n") // as if it had not come to setting it
	b.up("one", 10)
	b.is(2 * 10 * instancesPerNode)
	b.down("one")
	b.is(128)
}

func TestWhatSomebodyElseSetStays(t *testing.T) {
	b := newInotifyBench(t)
	b.up("one", 10)
	write(t, b.sysctl, "8192\n")
	b.up("two", 10)
	b.down("one")
	b.down("two")
	b.is(8192)
	if last := b.said[len(b.said)-1]; !strings.Contains(last, "somebody else") {
		t.Errorf("said: %q", b.said)
	}
}
