package server

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/account"
)

// answered sends a request, and gives all of the answer that comes at once: a stream has no end.
func (g *guarded) answered(method, path, body string, headers []string) string {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), time.Minute)
	defer cancel()
	q := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	for i := 0; i+1 < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("If-Match", `"99999"`) // nothing begins
	w := httptest.NewRecorder()
	g.handler.ServeHTTP(&until{w, cancel}, q)
	text, err := io.ReadAll(w.Result().Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return string(text)
}

// pathOf is the path of an operation about the cluster one, and about things that there are not.
func pathOf(path string) string {
	return strings.NewReplacer("{cluster}", "one", "{run}", "r1", "{backup}", backupName, "{user}", "stranger",
		"{token}", "t1").Replace(path)
}

// askingW1 has the password of the node w1 asked for.
const askingW1 = `"settings":{"eggo.machines":"{w1: {password-from: prompt}}"},`

// What a request tells of secrets is kept for the runs that follow: only what deploy.yaml asks for, and no more than a
// login takes. Otherwise an operator could fill the memory of the server, and the pipe to each run.
func TestOnlySecretsThatAreAskedForAreTaken(t *testing.T) {
	s := begin(t)
	large := strings.Repeat("A", 1<<20)
	tell := func(secrets string) string {
		return `{"options":{"secrets":` + secrets + `},` + askingW1 + oneCluster[1:]
	}
	a := s.want(s.call("ann", "POST", Prefix+"/clusters", tell(`{"k1":"`+large+`"}`)), 422, "api.secret-other")
	if !strings.Contains(a.text, "password w1") {
		t.Error("it does not say what is asked for: ", a.text)
	}
	s.want(s.call("ann", "POST", Prefix+"/clusters", tell(`{"password w1":"`+large+`"}`)), 422, "api.secret-long")
	s.want(s.call("ann", "POST", Prefix+"/clusters", `{"options":{"secrets":{"password":"x"}},`+oneCluster[1:]), 422,
		"api.secret-none")
	s.want(s.call("ann", "POST", Prefix+"/clusters", tell(`{"password w1":"`+large[:1024]+`"}`)), 202, "")
	s.reach("Creating", func() bool { return s.world.Newest("one") != nil })
	s.world.Newest("one").Finish(event.NewFault(event.ClassFailed, "internal", nil))
	s.reach("Unavailable", nil)
	revision := s.m.Clusters()[0].Revision
	for _, path := range []string{"continue", "renew", "snapshots", "backups", "upgrade"} {
		extra := map[string]string{"backups": `,"passphrase":"a long passphrase"`,
			"upgrade": `,"bundles":["` + filepath.Join(s.bundles, "b.tar.gz") + `"]`}[path]
		for secrets, code := range map[string]string{`{"` + strings.Repeat("k", 100000) + `":"x"}`: "api.secret-other",
			`{"password w2":"x"}`: "api.secret-other", `{"password w1":"` + large[:1025] + `"}`: "api.secret-long"} {
			a := s.call("otto", "POST", Prefix+"/clusters/one/"+path, `{"secrets":`+secrets+extra+`}`)
			if path == "continue" || a.status != http.StatusConflict { // the others are not possible now
				s.want(a, 422, code)
			}
			if len(a.text) > 2000 {
				t.Errorf("%s: %d bytes", path, len(a.text))
			}
		}
	}
	if s.m.Clusters()[0].Revision != revision {
		t.Error("something was begun")
	}
	s.want(s.call("otto", "POST", Prefix+"/clusters/one/continue", `{"secrets":{"password w1":"right"}}`), 202, "")
}

// Whatever is asked by whomever: no answer has a secret but those whose purpose it is, what changes something is
// recorded also if it is refused, and neither the log of that nor the database has a secret.
func TestNoAnswerHasASecret(t *testing.T) {
	g := beginGuarded(t)
	const registry = `"registries":[{"host":"r.example","username":"eggo","password":"swordfish"}],`
	g.want(g.call("", "POST", Prefix+"/clusters", `{`+registry+askingW1+
		`"options":{"secrets":{"password w1":"open sesame"}},`+
		oneCluster[1:], g.as("global")...), 202, "")
	g.reach("Creating", func() bool { return g.world.Newest("one") != nil })
	g.world.Newest("one").Finish(nil)
	g.reach("Running", nil)
	g.installed()
	api := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"items":[]}`)
	}))
	t.Cleanup(api.Close)
	if err := os.WriteFile(filepath.Join(g.root, "one", "admin.conf"), []byte(adminOf(api)), 0o600); err != nil {
		t.Fatal(err)
	}
	secrets := []string{"hunter2", "secret-key", "swordfish", "open sesame", goodPassword, "argon2",
		"PRIVATE KEY", "token: t", "an old passphrase", "AGE-SECRET-KEY-1HUNTER"}
	bodies := validBodies()
	bodies["take-backup"] = `{"passphrase":"an old passphrase"}`
	bodies["verify-backup"] = `{"identity":"AGE-SECRET-KEY-1HUNTER"}`
	bodies["restore-backup"] = `{"passphrase":"an old passphrase"}`
	bodies["inspect-status"] = `{"secrets":{"password":"open sesame"}}`
	bodies["check"] = `{"options":{"secrets":{"password":"open sesame"}},` + registry + oneCluster[1:]
	bodies["create-cluster"] = `{` + registry + oneCluster[1:]
	bodies["create-user"] = `{"name":"viewer","password":"` + goodPassword + `"}`
	meant := []string{"get-admin-kubeconfig", "issue-kubeconfig"}
	all := g.documented()
	for _, id := range slices.Sorted(maps.Keys(all)) {
		for _, who := range []string{"global", "viewer"} {
			headers := g.as(who)
			before := len(g.recorded(id))
			text := g.answered(all[id].method, pathOf(all[id].path), bodies[id], headers)
			for _, secret := range append(secrets, strings.TrimPrefix(headers[1], account.Cookie+"=")) {
				if strings.Contains(text, secret) && (!slices.Contains(meant, id) || who == "viewer" &&
					id == "get-admin-kubeconfig") {
					t.Errorf("%s has %q for %s: %s", id, secret, who, text)
				}
			}
			changes := all[id].method != http.MethodGet || id == "get-admin-kubeconfig"
			if id == "setup" { // nobody's: a server that has an administrator answers, and writes nothing
				continue
			}
			if n := len(g.recorded(id)) - before; changes != (n == 1) {
				t.Errorf("%s by %s is recorded %d times: %s", id, who, n, text)
			}
		}
	}
	for _, e := range g.recorded("") {
		for _, secret := range secrets {
			if strings.Contains(strings.Join([]string{e.Entry.Caller.Name, e.Entry.Action, e.Entry.Cluster,
				e.Entry.Target}, " "), secret) {
				t.Errorf("the audit log has %q: %+v", secret, e)
			}
		}
	}
	files, err := filepath.Glob(g.db.Path() + "*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return s == "argon2" }) {
			if strings.Contains(string(text), secret) {
				t.Errorf("%s has %q", file, secret)
			}
		}
	}
}

// recorded are the entries of the audit log about an operation; "": all.
func (g *guarded) recorded(action string) []account.Audited {
	g.t.Helper()
	list, err := g.accounts.Audit(g.t.Context(), account.Filter{Action: action}, 10000)
	if err != nil {
		g.t.Fatal(err)
	}
	return list
}
