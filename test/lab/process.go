package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// process is a process of this machine and the moment it started (clock ticks since boot): a number alone may
// belong to somebody else by the time it is read again.
type process struct {
	pid   int
	start uint64
	boot  string // of this machine
}

// statFields splits /proc/PID/stat behind the name, which may hold blanks and parentheses. The first field is
// the state, the second the parent.
func statFields(stat string) ([]string, error) {
	end := strings.LastIndexByte(stat, ')')
	if end < 0 {
		return nil, fmt.Errorf("not a process's stat: %q", stat)
	}
	f := strings.Fields(stat[end+1:])
	if len(f) < 20 {
		return nil, fmt.Errorf("short stat: %q", stat)
	}
	return f, nil
}

// recordedProcess reads a file with "pid start boot"; ok is false when there is none or the process is no more.
func recordedProcess(file string) (p process, ok bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return p, false
	}
	if _, err := fmt.Sscan(string(text), &p.pid, &p.start, &p.boot); err != nil {
		return p, false
	}
	return p, p.alive()
}

// thisProcess is the one that runs this, on a machine with that boot id.
func thisProcess(boot string) (process, error) {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return process{}, err
	}
	f, err := statFields(string(stat))
	if err != nil {
		return process{}, err
	}
	start, err := strconv.ParseUint(f[19], 10, 64)
	return process{os.Getpid(), start, boot}, err
}

func (p process) alive() bool {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil || strings.TrimSpace(string(boot)) != p.boot || p.pid <= 1 {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/stat")
	if err != nil {
		return false
	}
	f, err := statFields(string(stat))
	if err != nil || f[0] == "Z" || f[0] == "X" {
		return false
	}
	start, err := strconv.ParseUint(f[19], 10, 64)
	return err == nil && start == p.start
}

// signal sends to the process if it is still the recorded one.
func (p process) signal(s syscall.Signal) {
	if p.alive() {
		_ = syscall.Kill(p.pid, s)
	}
}

// init finds PID 1 of the namespace that the process (an nspawn) made.
func (p process) init() (int, bool) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, false
	}
	for _, file := range stats {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		f, err := statFields(string(text))
		if err != nil || f[1] != strconv.Itoa(p.pid) || f[0] == "Z" {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		status, err := os.ReadFile(filepath.Join(filepath.Dir(file), "status"))
		if err == nil && innermostPid(string(status)) == 1 {
			return pid, true
		}
	}
	return 0, false
}

// innermostPid is the last number of NSpid in /proc/PID/status.
func innermostPid(status string) int {
	for line := range strings.Lines(status) {
		if rest, ok := strings.CutPrefix(line, "NSpid:"); ok {
			f := strings.Fields(rest)
			if len(f) < 2 { // no namespace beneath ours
				return 0
			}
			n, _ := strconv.Atoi(f[len(f)-1])
			return n
		}
	}
	return 0
}
