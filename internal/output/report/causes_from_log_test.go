package report

import (
	"testing"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/state"
)

func TestWhatLiesBehindAFailure(t *testing.T) {
	for _, c := range []struct {
		cause string
		lines []string
		want  string
	}{
		{"dpkg: error processing archive: cannot copy extracted data for './usr/bin/containerd': No space left on " +
			"device", nil, "likely.disk-full"},
		{"exit status 1", []string{"E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 812 (apt)",
			"all is well"}, "likely.package-lock"},
		{"", []string{"no route to host", "Job failed", "listen tcp :2379: bind: address already in use"},
			"likely.port-taken"},
		{"x509: certificate has expired or is not yet valid: current time 2020-01-01T00:00:00Z is before", nil,
			"likely.clock"},
		{"x509: certificate signed by unknown authority", nil, "likely.certificate"},
		{"Failed to start etcd.service\ndiscovery failed: error parsing CompactionRetention: time: unknown unit " +
			"\"d\" in duration \"1d\"", nil, "likely.setting"},
		{"", []string{"Error: unknown flag: --max-podz"}, "likely.setting"},
		{"something nobody has seen", []string{"nor this"}, ""},
		{"", nil, ""},
	} {
		var lines []state.Line
		for _, l := range c.lines {
			lines = append(lines, state.Line{Text: l})
		}
		got, do, ok := Likely(&event.Fault{Cause: c.cause}, lines)
		if got.Key != c.want || ok != (c.want != "") {
			t.Errorf("%q %q: %q, want %q", c.cause, c.lines, got.Key, c.want)
		}
		if ok && do.Key != c.want+".do" {
			t.Errorf("%q: advice %q", c.cause, do.Key)
		}
	}
}

// Each cause and its advice has its words in both languages.
func TestCausesHaveWords(t *testing.T) {
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		p := i18n.NewPrinter(lang)
		for _, s := range signs() {
			if !p.Has(s.cause.Key) || !p.Has(s.cause.Key+".do") {
				t.Errorf("%s: %s has no words", lang, s.cause.Key)
			}
		}
	}
}

func TestAFullDiskIsSaidWhateverTheProgramSaid(t *testing.T) {
	found := &event.Fault{Code: "node.command-failed", Cause: "printf: I/O error",
		Args: map[string]string{event.FullDisks: "/, /var"}}
	cause, do, ok := Likely(found, nil)
	if !ok || cause.Key != "likely.disk-full-at" || cause.Args["path"] != "/, /var" || do.Args["path"] != "/, /var" {
		t.Errorf("%v %v %v", cause, do, ok)
	}
	if cause, _, _ := Likely(&event.Fault{Code: "ssh.disk-full"}, nil); cause.Key != "likely.disk-full" {
		t.Errorf("an upload without room: %v", cause)
	}
}
