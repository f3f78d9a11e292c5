package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/server/database"
	"github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/manager/records"
	"github.com/eggo-k8s/eggo/internal/server/manager/upkeep"
)

// command runs a command of the program with a line on stdin, and gives its exit code, stdout and stderr.
func command(t *testing.T, stdin string, args ...string) (int, string, string) {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(t.Context(), &environment{Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs,
		Args: append([]string{"eggo-server"}, args...), P: i18n.NewPrinter(i18n.English),
		Getenv: func(string) string { return "" }})
	return code, out.String(), errs.String()
}

// haveClusters has a server know clusters.
func haveClusters(t *testing.T, data string, names ...string) {
	t.Helper()
	db, err := database.Open(t.Context(), filepath.Join(data, databaseFile))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	store, err := records.Open(t.Context(), db, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := store.Save(t.Context(), manager.Record{Name: name, Revision: 1}, 0); err != nil {
			t.Fatal(err)
		}
	}
}

func TestUsersOnTheControlHost(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	haveClusters(t, data, "lab", "rack")
	for _, c := range []struct {
		stdin, args string
		code        int
		out, errs   string
	}{
		{"a good long password\n", "add chief --role admin", 0, "chief", ""},
		{"a good long password", "add ann --cluster rack=operator,lab=viewer", 0, "ann", ""},
		{"a good long password\n", "add " + upkeep.By, 2, "", "account.reserved"},
		{"a good long password\n", "add Root", 2, "", "account.reserved"},
		{"short\n", "add bob", 2, "", "account.password-short"},
		{"a good long password\n", "add bob --cluster rack", 2, "", "account.role"},
		{"a good long password\n", "add eve --cluster lab=viewer,typo=operator", 2, "", "account.no-cluster"},
		{"", "list", 0, "ann  lab=viewer  rack=operator\nchief  admin\n", ""},
		{"another long password\n", "reset ann", 0, "", ""},
		{"", "revoke-tokens ann", 0, "0", ""},
		{"", "revoke-tokens eve", 2, "", "account.unknown"},
		{"", "delete ann", 0, "", ""},
		{"", "delete ann", 2, "", "account.unknown"},
		{"", "delete chief", 11, "", "account.last-admin"},
		{"", "list", 0, "chief  admin\n", ""},
	} {
		code, out, errs := command(t, c.stdin, append(append([]string{"user"}, strings.Fields(c.args)...),
			"--data-dir", data)...)
		if code != c.code || !strings.Contains(out, c.out) || !strings.Contains(errs, c.errs) {
			t.Errorf("%s: %d\n%s%s", c.args, code, out, errs)
		}
	}
}

func TestALoginWithAProviderBegins(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sso.yaml")
	text := "issuer: https://127.0.0.1:1\nclient-id: eggo\nurl: https://eggo.example\n" +
		"groups: [{group: a, role: viewer}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, t.TempDir(), t.TempDir(), "--sso", file)
	defer s.end()
	if code, m, _ := s.call("", "GET", "/api/v1/login", ""); code != 200 || m["provider"] != true {
		t.Error(code, m)
	}
	if code, m, _ := s.call("", "GET", "/api/v1/login/sso", ""); code != 502 || m["code"] != "sso.unreachable" {
		t.Error(code, m)
	}
	if code, out, errs := command(t, "", "serve", "--data-dir", t.TempDir(), "--state-dir", t.TempDir(), "--sso",
		filepath.Join(t.TempDir(), "none")); code != 2 || !strings.Contains(errs, "sso.config") {
		t.Error(code, out, errs)
	}
}
