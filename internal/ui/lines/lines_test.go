package lines

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/state"
	"github.com/eggo-k8s/eggo/internal/testkit/ptytest"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
)

// files are the machine of a dialogue: what was kept and written there, and the runs that were begun.
type files struct {
	saved   draft.Saved
	has     bool
	written map[string]config.Draft
	begun   []backend.Start
}

// draft are the services of a draft on a machine that nobody can be reached from.
func (f *files) draft() backend.DraftServices {
	return &uitest.Draft{
		OnLoad:   func() (draft.Saved, bool) { return f.saved, f.has },
		OnSave:   func(s draft.Saved) error { f.saved, f.has = s, true; return nil },
		OnForget: func() error { f.has = false; return nil },
		OnRead:   func(string) ([]byte, error) { return nil, nil },
		OnFile:   func(string) string { return "/home/.eggo/deploy.yaml" },
		OnKeys:   func() []string { return nil },
		OnLookup: func(_ context.Context, host string) ([]netip.Addr, error) {
			if host == "web1.example.com" {
				return []netip.Addr{netip.MustParseAddr("10.0.0.7")}, nil
			}
			return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		},
		OnProbe: func(_ context.Context, _ config.Draft, m config.Machine, tell func(draft.Probe)) {
			fault := event.NewFault(event.ClassFailed, "ssh.unreachable", nil, "addr", m.IP).On(m.Name)
			tell(draft.Probe{Machine: m, Stage: draft.Failed, Fault: fault})
		},
		OnBundles: func(context.Context, []string, func(draft.Bundle)) {},
		OnPreflight: func(_ context.Context, _ config.Draft, _ string, tell func(draft.Check)) {
			tell(draft.Check{End: true, Fault: event.NewFault(event.ClassFailed, "state.read", nil)})
		},
		OnWrite: func(path string, d config.Draft, _ *i18n.Printer) error { f.written[path] = d; return nil },
		OnStart: func(string, config.Draft) backend.Start { return backend.Start{} },
	}
}

// host is a control host that knows no cluster.
type host struct {
	uitest.Host
	files   *files
	joining func(request.ClusterRuns) (config.Draft, backend.DraftServices, error)
}

// Usual implements Services.
func (h *host) Usual() string { return "" }

// Path implements Services.
func (h *host) Path(typed string) string { return typed }

// Draft implements Services.
func (h *host) Draft() backend.DraftServices { return h.files.draft() }

// Joining implements Services.
func (h *host) Joining(c request.ClusterRuns) (config.Draft, backend.DraftServices, error) {
	return h.joining(c)
}

// host returns the control host of the machine.
func (f *files) host() *host {
	launch := func(_ context.Context, s backend.Start, _ ask.Asker) (request.Ref, error) {
		f.begun = append(f.begun, s)
		return request.Ref{}, io.EOF
	}
	return &host{Host: uitest.Host{OnLaunch: launch}, files: f}
}

// dialogue is one line by line: what is typed, a line after the other, and what is said.
func dialogue(t *testing.T, lang i18n.Lang, typed ...string) (*menu, *bytes.Buffer) {
	t.Helper()
	m, said, _ := dialogueAt(lang, strings.Join(typed, "\n")+"\n")
	return m, said
}

// dialogueAt is one with a machine of its own, and with lines that end as they are given.
func dialogueAt(lang i18n.Lang, typed string) (*menu, *bytes.Buffer, *files) {
	said, f := new(bytes.Buffer), &files{written: map[string]config.Draft{}}
	term := Terminal{In: strings.NewReader(typed), Out: said, Err: said, Printer: i18n.NewPrinter(lang)}
	return &menu{conversation: newConversation(term), svc: f.host()}, said, f
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

// The wizard line by line: questions with defaults, what is wrong told where it is typed, steps back, undo, changes of
// machines, every key, and a draft that stays when one leaves.
func TestThePlainWizard(t *testing.T) {
	t.Parallel()
	m, said, f := dialogueAt(i18n.English, strings.Join([]string{
		"UPPER", "prod", "", // the name, the file
		"eggo", "/keys/id", "geheim", "", "1", "", // user, key, password, of sudo, not in the file, no bastion
		// machines
		"nonsense", "127.0.0.[8-9]:1 worker", "web 127.0.0.7:1 master", "-node-2", "2 worker etcd name=edge port=２",
		"2 port=99999", ">",
		"10.1.0.0/99", "<", // a network, and back: nothing is lost
		">",
		"10.1.0.0/16", "", "", "", "9", "2", "", "", "", // networks
		":u", ":r", // undo shows what was before
		">",     // runtime
		"-", "", // no bundle
		// settings
		"nonsense=1", "dns-domain=x.local", "*extra", "config-extra-args=|", "- name: kubelet",
		"  extra-args: {--v: \"2\"}", ".", "",
		"3", // preflight cannot be: go on all the same
		"2", // show the file
		"4", // leave
	}, "\n")+"\n")
	if err := newCluster(context.Background(), m); !errors.Is(err, errLeft) {
		t.Fatalf("%v\n%s", err, said)
	}
	plain(t, said.String())
	says(t, said.String(), "Step 1 of 9", "UPPER", "Cannot resolve nonsense: no such host", "127.0.0.9", "10.1.0.0/99",
		"No such choice: “9”", "Undone: ", "Redone: ",
		"cluster-id: prod", "plugin: calico", "dns-domain: x.local", "private-key-path: /keys/id", "edge",
		"config-extra-args", "Your input is saved")
	if strings.Contains(said.String(), "geheim") {
		t.Error("the password is shown")
	}
	s, ok := f.saved, f.has
	if !ok || len(s.Draft.Machines) != 2 || s.Draft.Get("network.plugin") != "calico" ||
		s.Draft.Get("network.podcidr") != "10.1.0.0/16" || s.Draft.Value("password") != "" {
		t.Fatalf("%v %+v", ok, s)
	}
	if x := s.Draft.Machines[1]; x.Name != "web" && x.Name != "edge" ||
		!slices.ContainsFunc(s.Draft.Machines, func(m config.Machine) bool {
			return m.Name == "edge" && m.Port == "2" && len(m.Roles) == 2
		}) {
		t.Errorf("%+v", s.Draft.Machines)
	}
}

// Whatever is typed, and wherever it ends, the wizard says lines, never begins anything, and keeps what was typed.
func TestHostileLines(t *testing.T) {
	t.Parallel()
	for name, typed := range map[string][]string{
		"the end at once": {}, "the end in the middle": {"prod", "", "root"},
		"a line of megabytes": {strings.Repeat("x", 10<<20), "prod"},
		"escape sequences":    {"\x1b[2J\x1b[31m", "prod", "\x1b]0;owned\x07"},
		"invalid UTF-8":       {"\xff\xfe", "prod\xff"},
		"full width":          {"ｐｒｏｄ", "", "？", "＜", ">", ">", "１９２.１６８.０.[１-３]", "１ worker"},
		"right to left":       {"\u202eevil", "שלום"}, "commands": {":u", ":r", "<", "<", ">", ":l", ":l", "?", ":q"},
		"long words": {"prod", "", "", "", strings.Repeat("a ", 20000), "", "",
			strings.Repeat("192.168.0.[1-250] ", 3000)},
	} {
		t.Run(name, func(t *testing.T) {
			m, said, f := dialogueAt(i18n.Chinese, strings.Join(typed, "\n")) // the last line has no end
			if err := newCluster(t.Context(), m); !errors.Is(err, io.EOF) && !errors.Is(err, errLeft) {
				t.Fatalf("%v\n%s", err, said)
			}
			plain(t, said.String())
			if !f.has || len(f.written)+len(f.begun) > 0 {
				t.Errorf("kept: %v, written: %v, begun: %v", f.has, f.written, f.begun)
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
	fault := event.NewFault(event.ClassFailed, "node.command-failed", errors.New("exit 1"), "status", "1", "command",
		"apt-get install containerd").On("n2")
	plan := event.PlanMade{Phases: []event.Phase{{ID: "p", Title: event.M("phase.preflight")}},
		Hosts: []event.Host{{Name: "n1", Addr: "10.0.0.1", Roles: []string{"worker"}},
			{Name: "n2", Addr: "10.0.0.2", Roles: []string{"worker"}}}}
	for _, h := range []string{"n1", "n2"} {
		plan.Steps = append(plan.Steps, event.Step{ID: "work/" + h, Phase: "p", Host: h,
			Title: event.M("step.infrastructure.packages", "node", h)})
	}
	s.add(event.RunStarted{Run: "20261122T040000Z-deploy", Cluster: "prod", Verb: "deploy"}, plan,
		event.PhaseStarted{Phase: "p"},
		event.StepStarted{Step: "work/n1", Try: 1}, event.StepStarted{Step: "work/n2", Try: 1},
		event.Output{Host: "n2", Step: "work/n2", Stream: "stderr", Line: "E: No space left on device"},
		event.StepAsked{Step: "work/n2", Try: 1, Fault: *fault})
	ended := func(o event.Outcome) []event.Event {
		return []event.Event{event.StepDecided{Step: "work/n2"}, event.StepEnded{Step: "work/n2", Outcome: o},
			event.StepEnded{Step: "work/n1", Outcome: event.OK}, event.RunEnded{Outcome: o}}
	}
	s.then["retry work/n2"] = ended(event.Changed)
	s.then["skip work/n2"] = ended(event.Failed)
	s.then["abort work/n2"] = ended(event.Failed)
	s.then["stop"], s.then["abort"] = ended(event.Interrupted), ended(event.Interrupted)
	return s
}

// A failure line by line: what it is, and every choice; q asks what becomes of the run; the end of the person is not
// the run's.
func TestAFailureLineByLine(t *testing.T) {
	t.Parallel()
	said := func(words ...string) []string { return words }
	for name, c := range map[string]struct {
		typed []string
		did   []string
		says  []string
		left  bool
	}{
		"tried again": {typed: said("1"), did: said("retry work/n2"),
			says: said("n2: action required", "Exit code: 1", "apt-get install containerd", "No space left on device",
				"changed after")},
		"left out":          {typed: said("９", "2"), did: said("skip work/n2"), says: said("No such choice: “9”")},
		"a log, then again": {typed: said("3", "１"), did: said("retry work/n2")},
		"ended": {typed: said("4", "2", "4", "1"), did: said("abort work/n2"),
			says: said("Running steps finish")},
		"later, and asked for": {typed: said("", "n", "", "f", "1"), did: said("retry work/n2"),
			says: said("type f to decide", "0 of 1 steps", "Pending decisions: 1")},
		"detached": {typed: said("q", "1"), left: true,
			says: said("continues. To return to it: eggo-tui attach")},
		"stopped": {typed: said("q", "2"), did: said("stop"),
			says: said("the run stops when the running steps finish")},
		"aborted":             {typed: said("q", "3"), did: said("abort")},
		"gone on with":        {typed: said("q", "", "1"), did: said("retry work/n2")},
		"the terminal closed": {left: true, says: said("continues. To return to it")},
	} {
		t.Run(name, func(t *testing.T) {
			m, out := dialogue(t, i18n.English, append(c.typed, "", "")...)
			if c.typed == nil {
				m, out, _ = dialogueAt(i18n.English, "")
			}
			s := failing()
			r := newRunView(m.conversation, backend.Board{Feed: s, Control: s, Usual: func() state.History {
				return nil
			}})
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
	s.add(event.StepEnded{Step: "work/n2", Outcome: event.Failed,
		Fault: event.NewFault(event.ClassFailed, "node.command-failed", nil, "status", "1", "command", "x")},
		event.RunEnded{Outcome: event.Failed})
	if err := newRunView(m.conversation, backend.Board{Feed: s}).follow(context.Background()); err != nil {
		t.Error(err)
	}
	plain(t, out.String())
	says(t, out.String(), "10.0.0.2", "No space left on device", "没有这个选项：“zzz”", "没有这个选项：“x”", "失败")
}

// pieces is a log that is read in two.
type pieces struct{ *script }

func (s pieces) Take(int) ([]event.Record, error) { return s.script.Take(3) }

// The log of a run that is over may come in pieces: what is between them has not been running ever since.
func TestAPastRunInPieces(t *testing.T) {
	t.Parallel()
	m, out := dialogue(t, i18n.English, "")
	s := &script{at: time.Now().Add(-48 * time.Hour)}
	s.add(event.RunStarted{Run: "20261120T040000Z-deploy", Cluster: "prod", Verb: "deploy"},
		event.PlanMade{Hosts: []event.Host{{Name: "n1", Addr: "10.0.0.1"}}, Steps: []event.Step{
			{ID: "work/n1", Host: "n1", Title: event.M("step.infrastructure.packages", "node", "n1")},
		}}, event.StepStarted{Step: "work/n1", Try: 1},
		event.StepEnded{Step: "work/n1", Outcome: event.OK}, event.RunEnded{Outcome: event.OK})
	if err := newRunView(m.conversation, backend.Board{Feed: pieces{s}}).follow(t.Context()); err != nil {
		t.Error(err)
	}
	if text := out.String(); strings.Contains(text, "still running") || !strings.Contains(text, "The run has ended") {
		t.Error(text)
	}
}

// What a person types as a password is asked for where it is not shown; afterwards the terminal shows again what is
// typed.
func TestAPasswordIsNotShown(t *testing.T) {
	t.Parallel()
	m, said, _ := dialogueAt(i18n.English, "geheim\nname\n")
	var did []string
	m.term.Hush = func() (func(), error) {
		did = append(did, "hushed after "+strconv.Itoa(strings.Count(said.String(), "\n")))
		return func() { did = append(did, "back") }, nil
	}
	if text, err := m.secret(t.Context(), "Password:"); text != "geheim" || err != nil {
		t.Errorf("%q %v", text, err)
	}
	if text, err := m.line(t.Context(), "Name:"); text != "name" || err != nil {
		t.Errorf("%q %v", text, err)
	}
	if want := []string{"hushed after 1", "back"}; !slices.Equal(did, want) {
		t.Errorf("%q, want %q", did, want)
	}
	m.term.Hush = func() (func(), error) { return nil, errors.New("no terminal") }
	if _, err := m.secret(t.Context(), "Password:"); err == nil {
		t.Error("it is asked for where it is seen")
	}
}

// interrupts are those of a process: the last that was begun is stopped, once.
type interrupts struct {
	mu    sync.Mutex
	stops []chan struct{} // the last is nil when it was closed
}

func (i *interrupts) begin() (<-chan struct{}, func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.stops = append(i.stops, make(chan struct{}))
	return i.stops[len(i.stops)-1], func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.stops = i.stops[:len(i.stops)-1]
	}
}

func (i *interrupts) halt() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	last := len(i.stops) - 1
	if last < 0 || i.stops[last] == nil {
		return false
	}
	close(i.stops[last])
	i.stops[last] = nil
	return true
}

// An interrupt is q: it asks about a run that goes on, leads from a question back to the menu, and from the menu out.
func TestAnInterruptLineByLine(t *testing.T) {
	t.Parallel()
	var i interrupts
	out := ptytest.NewHeard()
	in, _ := io.Pipe()
	term := Terminal{In: in, Out: out, Err: out, Printer: i18n.NewPrinter(i18n.English), Interrupts: i.begin}
	f := &files{written: map[string]config.Draft{}}
	s := failing()
	r := newRunView(newConversation(term), backend.Board{Feed: s, Control: s})
	ended := make(chan error, 1)
	stop, end := i.begin()
	go func() { ended <- r.follow(t.Context()) }()
	out.Wait(t, "or q:")
	i.halt()
	out.Wait(t, "Quit?", "or q:")
	i.halt()
	out.Wait(t, "To return to it: eggo-tui attach")
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

	// Of one pipe the run's question would still read: which of the two gets a line, nobody could say.
	menu, typed := io.Pipe()
	term.In = menu
	go func() { ended <- Menu(t.Context(), term, f.host(), nil) }()
	out.Wait(t, "q quit:")
	if _, err := typed.Write([]byte("1\n")); err != nil {
		t.Fatal(err)
	}
	out.Wait(t, "Cluster name")
	i.halt()
	out.Wait(t, "Your input is saved", "q quit:")
	i.halt()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A line ends with LF, with CR, as terminals send it between pasted lines, or with both; the last may have no end.
func TestEveryLineBreakEndsALine(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"\r", "\n", "\r\n"} {
		m, _, _ := dialogueAt(i18n.English, "one"+end+"two"+end+end+"three")
		p := m.conversation
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
