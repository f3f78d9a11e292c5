package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"golang.org/x/sys/unix"

	"github.com/eggo-k8s/eggo/internal/backend"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/i18n"
	"github.com/eggo-k8s/eggo/internal/runstate"
)

// dialogue is one line by line: what is typed, a line after the other, and what is said.
func dialogue(t *testing.T, lang i18n.Lang, typed ...string) (*plainDesk, *bytes.Buffer) {
	t.Helper()
	home, said := t.TempDir(), new(bytes.Buffer)
	env := &environment{P: i18n.NewPrinter(lang), Args: []string{"eggo-tui"}, Stdout: said, Stderr: said, Stdin: strings.NewReader(strings.Join(typed, "\n") + "\n"), Getenv: func(k string) string {
		return map[string]string{"HOME": home}[k]
	}}
	return &plainDesk{desk: &desk{env: env, state: filepath.Join(home, "state")}, talker: newTalker(env)}, said
}

// plain wants lines that steer no terminal.
func plain(t *testing.T, text string) {
	t.Helper()
	for _, r := range text {
		if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			t.Fatalf("%U is said:\n%q", r, text)
		}
	}
}

func says(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q was not said:\n%s", w, text)
		}
	}
}

// The wizard line by line: questions with defaults, what is wrong told where it is typed, steps back, undo, changes of machines, every key,
// and a draft that stays when one leaves.
func TestThePlainWizard(t *testing.T) {
	t.Parallel()
	m, said := dialogue(t, i18n.English,
		"UPPER", "prod", "", // the name, the file
		"eggo", "/keys/id", "geheim", "", "1", "", // user, key, password, of sudo, not in the file, no bastion
		"nonsense", "127.0.0.[8-9]:1 worker", "web 127.0.0.7:1 master", "-node-2", "2 worker etcd name=edge port=２", "2 port=99999", ">", // machines
		"10.1.0.0/99", "<", // a network, and back: nothing is lost
		">",
		"10.1.0.0/16", "", "", "", "9", "2", "", "", "", // networks
		":u", ":r", // undo shows what was before
		">",     // runtime
		"-", "", // no bundle
		"nonsense=1", "dns-domain=x.local", "*extra", "config-extra-args=|", "- name: kubelet", "  extra-args: {--v: \"2\"}", ".", "", // settings
		"3", // preflight cannot be: go on all the same
		"2", // show the file
		"4", // leave
	)
	if err := plainCluster(context.Background(), m); !errors.Is(err, errLeft) {
		t.Fatalf("%v\n%s", err, said)
	}
	plain(t, said.String())
	says(t, said.String(), "Step 1 of 9", "UPPER", "no machine: nonsense", "127.0.0.9", "10.1.0.0/99", "There is no “9” here", "Undone: ", "Done again: ",
		"cluster-id: prod", "plugin: calico", "dns-domain: x.local", "private-key-path: /keys/id", "edge", "config-extra-args", "What was typed is kept")
	if strings.Contains(said.String(), "geheim") {
		t.Error("the password is shown")
	}
	s, ok := newDraftDesk(m.env(), m.state).load()
	if !ok || len(s.Draft.Machines) != 2 || s.Draft.Get("network.plugin") != "calico" || s.Draft.Get("network.podcidr") != "10.1.0.0/16" || s.Draft.Values["password"] != "" {
		t.Fatalf("%v %+v", ok, s)
	}
	if x := s.Draft.Machines[1]; x.Name != "web" && x.Name != "edge" || !slices.ContainsFunc(s.Draft.Machines, func(m config.Machine) bool { return m.Name == "edge" && m.Port == "2" && len(m.Roles) == 2 }) {
		t.Errorf("%+v", s.Draft.Machines)
	}
}

// Whatever is typed, and wherever it ends, the wizard says lines, never begins anything, and keeps what was typed.
func TestHostileLines(t *testing.T) {
	t.Parallel()
	for name, typed := range map[string][]string{
		"the end at once": {}, "the end in the middle": {"prod", "", "root"}, "a line of megabytes": {strings.Repeat("x", 10<<20), "prod"}, "escape sequences": {"\x1b[2J\x1b[31m", "prod", "\x1b]0;owned\x07"},
		"invalid UTF-8": {"\xff\xfe", "prod\xff"}, "full width": {"ｐｒｏｄ", "", "？", "＜", ">", ">", "１９２.１６８.０.[１-３]", "１ worker"}, "right to left": {"\u202eevil", "שלום"}, "commands": {":u", ":r", "<", "<", ">", ":l", ":l", "?", ":q"},
		"long words": {"prod", "", "", "", strings.Repeat("a ", 20000), "", "", strings.Repeat("192.168.0.[1-250] ", 3000)},
	} {
		t.Run(name, func(t *testing.T) {
			m, said := dialogue(t, i18n.Chinese, typed...)
			m.desk.env.Stdin = strings.NewReader(strings.Join(typed, "\n")) // the last line has no end
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			*m.talker = *newTalker(m.desk.env)
			if err := plainCluster(ctx, m); !errors.Is(err, io.EOF) && !errors.Is(err, errLeft) {
				t.Fatalf("%v\n%s", err, said)
			}
			plain(t, said.String())
			if entries, _ := filepath.Glob(filepath.Join(m.state, "*")); len(entries) != 1 || filepath.Base(entries[0]) != "draft.json" {
				t.Errorf("there is %v", entries)
			}
		})
	}
}

// script is a run whose events come when the dialogue is there, and what was asked of it.
type script struct {
	mu   sync.Mutex
	recs []event.Record
	did  []string
	then map[string][]event.Event // what happens when something is done
	at   time.Time
}

func (s *script) add(events ...event.Event) {
	for _, e := range events {
		s.at = s.at.Add(time.Second)
		s.recs = append(s.recs, event.Record{Seq: uint64(len(s.did)*100 + len(s.recs) + 1), Time: s.at, Event: e})
	}
}

func (s *script) Take(n int) ([]event.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.recs[:min(n, len(s.recs))]
	s.recs = s.recs[len(out):]
	return slices.Clone(out), nil
}

func (s *script) done(what string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.did = append(s.did, what)
	s.add(s.then[what]...)
	return nil
}

func (s *script) Decide(step string, d event.Decision) error { return s.done(string(d) + " " + step) }
func (s *script) Stop() error                                { return s.done("stop") }
func (s *script) Abort() error                               { return s.done("abort") }

// failing is a run of two machines one of which has failed.
func failing() *script {
	s := &script{at: time.Date(2026, 11, 22, 4, 0, 0, 0, time.UTC), then: map[string][]event.Event{}}
	fault := event.NewFault(event.ClassFailed, "node.command-failed", errors.New("exit 1"), "status", "1", "command", "apt-get install containerd").On("n2")
	plan := event.PlanMade{Phases: []event.Phase{{ID: "p", Title: event.M("phase.preflight")}}, Hosts: []event.Host{{Name: "n1", Addr: "10.0.0.1", Roles: []string{"worker"}}, {Name: "n2", Addr: "10.0.0.2", Roles: []string{"worker"}}}}
	for _, h := range []string{"n1", "n2"} {
		plan.Steps = append(plan.Steps, event.Step{ID: "work/" + h, Phase: "p", Host: h, Title: event.M("step.infrastructure.packages", "node", h)})
	}
	s.add(event.RunStarted{Run: "20261122T040000Z-deploy", Cluster: "prod", Verb: "deploy"}, plan, event.PhaseStarted{Phase: "p"},
		event.StepStarted{Step: "work/n1", Try: 1}, event.StepStarted{Step: "work/n2", Try: 1},
		event.Output{Host: "n2", Step: "work/n2", Stream: "stderr", Line: "E: No space left on device"}, event.StepAsked{Step: "work/n2", Try: 1, Fault: *fault})
	ended := func(o event.Outcome) []event.Event {
		return []event.Event{event.StepDecided{Step: "work/n2"}, event.StepEnded{Step: "work/n2", Outcome: o}, event.StepEnded{Step: "work/n1", Outcome: event.OK}, event.RunEnded{Outcome: o}}
	}
	s.then["retry work/n2"] = ended(event.Changed)
	s.then["skip work/n2"] = ended(event.Failed)
	s.then["abort work/n2"] = ended(event.Failed)
	s.then["stop"], s.then["abort"] = ended(event.Interrupted), ended(event.Interrupted)
	return s
}

// A failure line by line: what it is, and every choice; q asks what becomes of the run; the end of the person is not the run's.
func TestAFailureLineByLine(t *testing.T) {
	t.Parallel()
	said := func(words ...string) []string { return words }
	for name, c := range map[string]struct {
		typed []string
		did   []string
		says  []string
		left  bool
	}{
		"tried again":          {typed: said("1"), did: said("retry work/n2"), says: said("n2 needs you", "Exit code: 1", "apt-get install containerd", "No space left on device", "changed after")},
		"left out":             {typed: said("９", "2"), did: said("skip work/n2"), says: said("There is no “9” here")},
		"a log, then again":    {typed: said("3", "１"), did: said("retry work/n2")},
		"ended":                {typed: said("4", "2", "4", "1"), did: said("abort work/n2"), says: said("What runs now ends first")},
		"later, and asked for": {typed: said("", "n", "", "f", "1"), did: said("retry work/n2"), says: said("f asks again", "0 of 1 steps", "Steps that wait for you: 1")},
		"detached":             {typed: said("q", "1"), left: true, says: said("continues. To come back to it: eggo-tui attach")},
		"stopped":              {typed: said("q", "2"), did: said("stop"), says: said("the run ends after what runs now")},
		"aborted":              {typed: said("q", "3"), did: said("abort")},
		"gone on with":         {typed: said("q", "", "1"), did: said("retry work/n2")},
		"the terminal closed":  {left: true, says: said("continues. To come back to it")},
	} {
		t.Run(name, func(t *testing.T) {
			m, out := dialogue(t, i18n.English, append(c.typed, "", "")...)
			if c.typed == nil {
				m.desk.env.Stdin = strings.NewReader("")
				*m.talker = *newTalker(m.desk.env)
			}
			s := failing()
			r := newPlainRun(m.talker, backend.Board{Feed: s, Control: s, Usual: func() runstate.History { return nil }})
			if err := r.follow(context.Background()); errors.Is(err, errLeft) != c.left || err != nil && !c.left {
				t.Errorf("%v", err)
			}
			if !slices.Equal(s.did, c.did) {
				t.Errorf("it did %q, want %q", s.did, c.did)
			}
			plain(t, out.String())
			says(t, out.String(), c.says...)
			if t.Failed() {
				t.Log(out.String())
			}
		})
	}
}

// A run that is over is told of from its log, and can be asked about afterwards.
func TestARunThatIsOverLineByLine(t *testing.T) {
	t.Parallel()
	m, out := dialogue(t, i18n.Chinese, "n", "l n2", "x n2", "f", "zzz", "")
	s := failing()
	s.add(event.StepEnded{Step: "work/n2", Outcome: event.Failed, Fault: event.NewFault(event.ClassFailed, "node.command-failed", nil, "status", "1", "command", "x")}, event.RunEnded{Outcome: event.Failed})
	if err := newPlainRun(m.talker, backend.Board{Feed: s}).follow(context.Background()); err != nil {
		t.Error(err)
	}
	plain(t, out.String())
	says(t, out.String(), "10.0.0.2", "No space left on device", "没有“zzz”", "这里没有“x”", "失败")
}

// What a person types as a password is not on the terminal; afterwards the terminal shows again what is typed.
func TestAPasswordIsNotEchoed(t *testing.T) {
	t.Parallel()
	m, _ := dialogue(t, i18n.English)
	f, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("this machine gives no terminals: ", err)
	}
	defer f.Close()
	tty := slave(t, f)
	defer tty.Close()
	env := *m.desk.env
	env.Stdin, env.Stdout = tty, tty
	p := newTalker(&env)
	for i, ask := range []func() (string, error){
		func() (string, error) { return p.secret(context.Background(), "Password:") },
		func() (string, error) { return p.line(context.Background(), "Name:") },
	} {
		got := make(chan string, 1)
		go func() { text, _ := ask(); got <- text }()
		prompt := []string{"Password:", "Name:"}[i]
		seen := until(t, f, prompt)
		if _, err := f.WriteString("geheim\n"); err != nil {
			t.Fatal(err)
		}
		if text := <-got; text != "geheim" {
			t.Errorf("%q", text)
		}
		if i == 1 {
			seen += until(t, f, "geheim")
		}
		if i == 0 && strings.Contains(seen, "geheim") {
			t.Errorf("%q", seen)
		}
	}
}

// slave is the other end of a pseudo-terminal.
func slave(t *testing.T, master *os.File) *os.File {
	t.Helper()
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return tty
}

// until reads what is on the terminal until a text is there.
func until(t *testing.T, f *os.File, text string) string {
	t.Helper()
	var seen []byte
	buf := make([]byte, 4096)
	if err := f.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	for !strings.Contains(string(seen), text) {
		n, err := f.Read(buf)
		if err != nil {
			t.Fatalf("%v after %q", err, seen)
		}
		seen = append(seen, buf[:n]...)
	}
	if err := f.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	return string(seen)
}

// An interrupt is q: it asks about a run that goes on, leads from a question back to the menu, and from the menu out.
func TestAnInterruptLineByLine(t *testing.T) {
	t.Parallel()
	var i interrupts
	out := &loud{said: make(chan string, 4096)} // more than is said
	in, typed := io.Pipe()
	home := t.TempDir()
	env := &environment{P: i18n.NewPrinter(i18n.English), Args: []string{"eggo-tui"}, Stdout: out, Stderr: out, Stdin: in, Interrupts: &i, Getenv: func(k string) string { return map[string]string{"HOME": home}[k] }}
	m := &plainDesk{desk: &desk{env: env, state: filepath.Join(home, "state")}, talker: newTalker(env)}
	s := failing()
	r := newPlainRun(m.talker, backend.Board{Feed: s, Control: s})
	ended := make(chan error, 1)
	stop, end := i.begin()
	go func() { ended <- r.follow(t.Context()) }()
	out.wait(t, "or q:")
	i.halt()
	out.wait(t, "Leave it?", "or q:")
	i.halt()
	out.wait(t, "To come back to it: eggo-tui attach")
	if err := <-ended; !errors.Is(err, errLeft) || s.did != nil {
		t.Errorf("%v %v", err, s.did)
	}
	select {
	case <-stop:
		t.Error("what was begun before was stopped")
	default:
	}
	if !i.halt() {
		t.Error("what was begun before holds no more")
	}
	end()

	go func() { ended <- plainMenu(t.Context(), &desk{env: env, state: m.state}) }()
	out.wait(t, "q leave:")
	if _, err := typed.Write([]byte("1\n")); err != nil { // the read of the run's question takes it
		t.Fatal(err)
	}
	if _, err := typed.Write([]byte("1\n")); err != nil {
		t.Fatal(err)
	}
	out.wait(t, "Name of the cluster")
	i.halt()
	out.wait(t, "What was typed is kept", "q leave:")
	i.halt()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// loud is what is said, for who waits for words.
type loud struct {
	said chan string
	rest string // that nobody has waited for yet
}

func (l *loud) Write(b []byte) (int, error) {
	l.said <- string(b)
	return len(b), nil
}

func (l *loud) wait(t *testing.T, words ...string) {
	t.Helper()
	end := time.After(20 * time.Second)
	for _, w := range words {
		for !strings.Contains(l.rest, w) {
			select {
			case more := <-l.said:
				l.rest += more
			case <-end:
				t.Fatalf("%q was not said:\n%s", w, l.rest)
			}
		}
		_, l.rest, _ = strings.Cut(l.rest, w)
	}
}

// A line ends with LF, with CR, as terminals send it between pasted lines, or with both; the last may have no end.
func TestEveryLineBreakEndsALine(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"\r", "\n", "\r\n"} {
		m, _ := dialogue(t, i18n.English)
		env := *m.desk.env
		env.Stdin = strings.NewReader("one" + end + "two" + end + end + "three")
		p := newTalker(&env)
		for _, want := range []string{"one", "two", "", "three"} {
			if got, err := p.line(context.Background(), "?"); got != want || err != nil {
				t.Errorf("%q: %q %v, want %q", end, got, err, want)
			}
		}
		if _, err := p.line(context.Background(), "?"); err == nil {
			t.Errorf("%q: a line after the end", end)
		}
	}
}
