package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/dial"
	"github.com/eggo-k8s/eggo/internal/operation/local"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/exitcode"
	"github.com/eggo-k8s/eggo/internal/run/journal"
)

// processLog of a run's directory is what its process says besides.
const processLog = "process.log"

func asFault(err error, f **event.Fault) bool { return errors.As(err, f) }

// printError shows an error as its sentence and its advice, on stderr.
func printError(env *environment, err error) {
	if err == nil {
		return
	}
	f := event.AsFault(err)
	text, next := env.P.Fault(f)
	fmt.Fprintf(env.Stderr, "%s: %s [%s]\n", env.P.T("cli.error"), text, f.Code)
	if next != "" {
		fmt.Fprintf(env.Stderr, "  → %s\n", next)
	}
}

// detachedRun is the process of a run: it reads its request and the secrets on stdin, says which run it is, and then
// speaks by its event log alone. The first signal stops it after its running steps, the second breaks them off.
func detachedRun(ctx context.Context, own func() config.Addresses) int {
	syscall.CloseOnExec(operation.ReportFD)
	ctx, abort := context.WithCancel(ctx)
	defer abort()
	env := &environment{Stderr: os.Stderr, P: i18n.NewPrinter(i18n.FromEnv())}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	begun := make(chan *operation.Handle, 1)
	go obey(signals, begun, abort)
	wire := func(e operation.Envelope) (operation.Deps, error) {
		env.P = i18n.NewPrinter(i18n.Lang(e.Lang))
		d := deps(e.Root, own)
		d.Asker, d.Unattended = stored(e.Answers.Secrets), true
		d.Opened = func(r operation.Run) error {
			if err := redirect(filepath.Join(r.Dir, processLog)); err != nil {
				return event.NewFault(event.ClassFailed, "state.write", err)
			}
			return nil
		}
		return d, nil
	}
	started := func(h *operation.Handle) func() { begun <- h; return func() {} }
	report := os.NewFile(operation.ReportFD, "report")
	err := operation.RunDetached(ctx, os.Stdin, report, wire, started, func(err error) { printError(env, err) })
	return int(exitcode.Of(err))
}

// obey turns signals into a stop and an abort. A hangup means nothing to a run.
func obey(signals <-chan os.Signal, begun <-chan *operation.Handle, abort func()) {
	var h *operation.Handle
	for stopping := false; ; {
		select {
		case h = <-begun:
			begun = nil
		case s := <-signals:
			switch {
			case s == syscall.SIGHUP:
			case stopping || h == nil || s == syscall.SIGTERM: // who sends it has asked before
				abort()
			default:
				stopping = true
				_ = h.Stop()
			}
		}
	}
}

// redirect makes a file of what goes to stdout and stderr, panics too.
func redirect(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, fd := range []int{1, 2} {
		if err := syscall.Dup3(int(f.Fd()), fd, 0); err != nil {
			return err
		}
	}
	return nil
}

// deps are those of operations on a state directory: no person is asked, and neither keys nor an agent of the user that
// the server runs as are used.
func deps(root string, own func() config.Addresses) operation.Deps {
	d := local.Deps(local.Options{Root: root, SSH: dial.Options{Own: own}})
	d.Who = journal.Holder{Program: "eggo-server", PID: os.Getpid(), Since: time.Now()}
	if u, err := user.Current(); err == nil {
		d.Who.User = u.Username
	}
	if name, err := os.Hostname(); err == nil {
		d.Who.Host = name
	}
	d.Version, d.Asker, d.Unattended = buildVersion(), stored(nil), true
	return d
}

// stored returns an Asker that answers from files, the environment and these secrets. It trusts no host key that
// deploy.yaml does not trust.
func stored(secrets map[string]string) ask.Asker {
	return ask.WithStored(ask.WithAnswers(ask.Nobody{}, secrets), os.Getenv)
}

// launcher starts the processes of runs: this program again. With systemd each is a scope of its own, so that neither
// the end of the server's unit nor its limits reach it; without, it is in a session of its own.
func launcher(root string, lang i18n.Lang, systemd bool) operation.Launcher {
	return operation.Launcher{
		Root: root, Lang: string(lang), Version: buildVersion(),
		Command: func(args ...string) (*exec.Cmd, error) {
			self, err := os.Executable()
			if err != nil {
				return nil, err
			}
			// One that was replaced by a newer version is called so: the newer one does the run.
			self = strings.TrimSuffix(self, " (deleted)")
			argv := append([]string{self}, args...)
			if systemd {
				argv = append([]string{"systemd-run", "--scope", "--quiet", "--collect", "--slice=system.slice",
					"--description=Eggo " + strings.Join(args[1:], " "), "--"}, argv...)
			}
			return exec.Command(argv[0], argv[1:]...), nil // of no context: it is to live on
		},
	}
}

// withSystemd says whether systemd runs here, and this process may ask it for scopes.
func withSystemd() bool {
	if _, err := os.Stat("/run/systemd/system"); err != nil || os.Geteuid() != 0 {
		return false
	}
	_, err := exec.LookPath("systemd-run")
	return err == nil
}
