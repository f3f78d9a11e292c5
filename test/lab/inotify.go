package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2"
)

// inotify is the one setting of the machine that a lab may change: fs.inotify.max_user_instances bounds what the
// processes of one user have open on the whole machine, nodes included, and the usual 128 are used up by about
// four control planes. It is raised when the nodes of all labs together need it and set back when the last of them goes
// down. Who needs it, and what it was before, is in one record per machine, whichever directory a lab is kept in.
type inotify struct {
	sysctl, record, boot string     // files: the setting, the record, the machine's boot id
	used                 func() int // instances that are open on the machine now
	say                  func(format string, args ...any)
}

// instancesPerNode is what a control plane with etcd and a kubelet was seen to use (27; a worker 12.5), and half as
// much again for pods.
const instancesPerNode = 40

// raised is the record. It means nothing after a reboot of the machine: the setting is as it was.
type raised struct {
	Boot        string              // boot id of the machine
	Before, Now int                 // the setting before, and what it was raised to; 0 when it was not
	Labs        map[string]labInUse // by directory
}

// labInUse is a lab that is up, or that a process is bringing up.
type labInUse struct {
	Nodes int
	PID   int    // the process that brought it up last, and when it started
	Start uint64 // in clock ticks since the machine's boot
}

func (l *Lab) inotify() inotify {
	return inotify{"/proc/sys/fs/inotify/max_user_instances", "/run/eggo-lab/inotify.json",
		"/proc/sys/kernel/random/boot_id", inotifyUsed, l.say}
}

// inotifyUsed counts the open instances of all processes: those of nodes, and of whatever else runs on this machine.
func inotifyUsed() (n int) {
	links, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return 0
	}
	for _, l := range links {
		if to, err := os.Readlink(l); err == nil && to == "anon_inode:inotify" {
			n++
		}
	}
	return n
}

// hold makes room for the nodes of the lab in dir beside those of the other labs.
func (i inotify) hold(ctx context.Context, dir string, nodes int) error {
	return i.locked(ctx, func(r *raised, now int) error {
		me, err := thisProcess(r.Boot)
		if err != nil {
			return err
		}
		r.Labs[dir] = labInUse{nodes, me.pid, me.start}
		total := 0
		for _, u := range r.Labs {
			total += u.Nodes
		}
		// Nodes that run already are counted twice, as open and by what they may open yet: too much does no harm, too
		// little does.
		need := i.used() + total*instancesPerNode
		if need <= now {
			return i.write(*r)
		}
		if now != r.Now {
			r.Before = now
		}
		r.Now = 2 * need
		i.say("fs.inotify.max_user_instances of this machine: %d is too low for %d nodes, raised to %d until the "+
			"last lab goes down", now, total, r.Now)
		// The record first: after a crash it says what there was before.
		return errors.Join(i.write(*r), i.set(r.Now))
	})
}

// release forgets the lab in dir and sets the value back when no lab is left.
func (i inotify) release(ctx context.Context, dir string) error {
	if _, err := os.Stat(i.record); os.IsNotExist(err) {
		return nil
	}
	return i.locked(ctx, func(r *raised, now int) error {
		delete(r.Labs, dir)
		if len(r.Labs) > 0 {
			return i.write(*r)
		}
		switch {
		case r.Before == 0:
		case now == r.Now:
			i.say("fs.inotify.max_user_instances of this machine: back to %d", r.Before)
			if err := i.set(r.Before); err != nil {
				return err
			}
		case now != r.Before:
			i.say("fs.inotify.max_user_instances of this machine is %d, not the %d of the lab: somebody else set "+
				"it, and it stays", now, r.Now)
		}
		return os.Remove(i.record)
	})
}

// locked runs f with the record and the setting while no other lab does. Labs that are no more are not in it.
func (i inotify) locked(ctx context.Context, f func(r *raised, now int) error) error {
	if err := os.MkdirAll(filepath.Dir(i.record), 0o755); err != nil {
		return err
	}
	lock := flock.New(i.record + ".lock")
	if _, err := lock.TryLockContext(ctx, 50*time.Millisecond); err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	text, err := os.ReadFile(i.sysctl)
	if err != nil {
		return err
	}
	now, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return fmt.Errorf("%s: %w", i.sysctl, err)
	}
	r, err := i.read()
	if err != nil {
		return err
	}
	return f(&r, now)
}

func (i inotify) set(value int) error {
	return os.WriteFile(i.sysctl, []byte(strconv.Itoa(value)+"\n"), 0o644)
}

func (i inotify) write(r raised) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return renameio.WriteFile(i.record, append(text, '\n'), 0o644)
}

func (i inotify) read() (raised, error) {
	boot, err := os.ReadFile(i.boot)
	if err != nil {
		return raised{}, err
	}
	fresh := raised{Boot: strings.TrimSpace(string(boot)), Labs: map[string]labInUse{}}
	text, err := os.ReadFile(i.record)
	if os.IsNotExist(err) {
		return fresh, nil
	}
	if err != nil {
		return raised{}, err
	}
	r := raised{}
	if err := json.Unmarshal(text, &r); err != nil {
		return raised{}, fmt.Errorf("%s: %w", i.record, err)
	}
	if r.Boot != fresh.Boot || r.Labs == nil {
		return fresh, nil
	}
	for dir, u := range r.Labs {
		if !u.alive(dir, r.Boot) {
			delete(r.Labs, dir)
		}
	}
	return r, nil
}

// alive: a node of the lab runs, or the process that is bringing it up.
func (u labInUse) alive(dir, boot string) bool {
	if (process{u.PID, u.Start, boot}).alive() {
		return true
	}
	files, err := filepath.Glob(filepath.Join(dir, "nodes", "*", "supervisor.pid"))
	if err != nil {
		return false
	}
	for _, f := range files {
		if _, on := recordedProcess(f); on {
			return true
		}
	}
	return false
}
