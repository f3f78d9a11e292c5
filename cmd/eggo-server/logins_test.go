package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/dial"
	"github.com/eggo-k8s/eggo/internal/phases/pki"
	"github.com/eggo-k8s/eggo/internal/remote"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
	"github.com/eggo-k8s/eggo/internal/testkit/remotetest"
)

// rootsKey gives the user of this process a key, in the home directory and in an agent.
func rootsKey(t *testing.T) (home string, public ssh.PublicKey) {
	t.Helper()
	home = t.TempDir()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, "root@controlhost")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(home, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".ssh", "id_ed25519"), pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	ring := agent.NewKeyring()
	if err := ring.Add(agent.AddedKey{PrivateKey: &key}); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(home, "agent")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_ = agent.ServeAgent(ring, c)
				c.Close()
			}()
		}
	}()
	t.Setenv("HOME", home)
	t.Setenv("SSH_AUTH_SOCK", socket)
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return home, signer.PublicKey()
}

// answering is the kubeconfig of an API server that answers.
func answering(t *testing.T) []byte {
	t.Helper()
	api := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"items":[]}`))
	}))
	t.Cleanup(api.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: api.Certificate().Raw})
	return []byte(fmt.Sprintf("current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\n"+
		"clusters: [{name: c, cluster: {server: %q, certificate-authority-data: %q}}]\n"+
		"users: [{name: u, user: {token: t}}]\n", api.URL, base64.StdEncoding.EncodeToString(ca)))
}

// The keys of the user that the server runs as are in HOME and in an agent, and a machine takes them. No request makes
// the server use them, whatever it says of passwords and whatever the deploy.yaml of the command line names: nothing,
// a password that is asked for, or one in a file or a variable that is empty.
func TestNoRequestUsesTheKeysOfRoot(t *testing.T) {
	home, public := rootsKey(t)
	machine := remotetest.New(t, remotetest.WithKey(public), remotetest.WithoutPasswords())
	bundle := filepath.Join(t.TempDir(), "bundle.tar.gz")
	if err := phasestest.WriteBundle(bundle); err != nil {
		t.Fatal(err)
	}
	file := func(text string) string {
		name := filepath.Join(t.TempDir(), "password")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return "file:" + name
	}
	t.Setenv("BLANK", " \n")
	data, state := t.TempDir(), t.TempDir()
	// Each cluster has another way to name no credential, and all requests are sent with another empty secret.
	blank := []string{"", "\n", "\r\n", " "}
	clusters := map[string]string{"none": "", "prompt": "prompt", "env": "env:BLANK", "file": file("\r\n")}
	for name, from := range clusters {
		byTheCommandLine(t, state, name, func(d *config.Draft) {
			if from != "" {
				d.Set("eggo.password-from", from)
			}
			d.Set("eggo.host-keys", "accept-new")
			d.Set(config.BundleKey("amd64"), bundle)
			for i := range d.Machines {
				d.Machines[i].IP, d.Machines[i].Port = fmt.Sprintf("127.0.0.%d", i+1), strconv.Itoa(machine.Port)
			}
		})
		spec := pki.Spec{Domain: "cluster.local", ServiceGateway: netip.MustParseAddr("10.32.0.1"),
			Endpoint: "127.0.0.1", Machines: []pki.Machine{{Name: "m1", IP: netip.MustParseAddr("127.0.0.1"),
				ControlPlane: true, Etcd: true, Kubelet: true}}}
		if _, _, err := pki.Ensure(filepath.Join(state, name, "pki"), spec, time.Now()); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(state, name, "admin.conf"), answering(t), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := start(t, data, state)
	defer func() { s.end() }()
	token := s.administrator()
	want := func(what string, code int, answer map[string]any, codes ...string) {
		t.Helper()
		text := fmt.Sprint(answer)
		for _, c := range codes {
			if strings.Contains(text, c) {
				return
			}
		}
		t.Errorf("%s: %d %s, want %q", what, code, text, codes)
	}
	for name := range clusters {
		path := "/api/v1/clusters/" + name
		s.becomes(token, path, "Running", func(m map[string]any) bool { return m["state"] == "Running" })
		const why, no = "usage.secret", "ssh.not-named"
		for _, route := range []string{"/status", "/certificates?nodes=true"} {
			code, answer, _ := s.call(token, "GET", path+route, "")
			want(name+" GET "+route, code, answer, why, no, "state:no-login")
		}
		for _, empty := range blank {
			secrets := fmt.Sprintf(`{"secrets":{"password":%q,"sudo":%q}}`, empty, empty)
			for _, route := range []string{"/status", "/certificates", "/plan"} {
				code, answer, _ := s.call(token, "POST", path+route, secrets)
				want(name+" POST "+route, code, answer, why, no, "state:no-login")
			}
		}
		key := `{"recipients":["age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"],`
		for i, route := range []string{"POST /renew", "POST /snapshots", "POST /backups", "POST /continue", "DELETE "} {
			body := `{"allow_unsigned":true}`
			if name == "prompt" { // the others ask for none
				body = fmt.Sprintf(`{"secrets":{"password":%q},"allow_unsigned":true}`, blank[i%len(blank)])
			}
			method, rest, _ := strings.Cut(route, " ")
			switch {
			case rest == "/backups":
				body = key + body[1:]
			case method == "DELETE":
				body = ""
			}
			code, answer, _ := s.call(token, method, path+rest, body)
			if code != http.StatusAccepted {
				if rest != "/continue" { // there is nothing to continue if the reason is kept by the cluster alone
					t.Errorf("%s %s: %d %v", name, route, code, answer)
				}
				continue
			}
			answer = s.becomes(token, path, "at rest", func(m map[string]any) bool { return m["operation"] == nil })
			want(name+" "+route, code, answer, why, no)
		}
	}
	for _, empty := range blank {
		body := fmt.Sprintf(`{"name":"new","server_address":"192.0.2.250","domain":"cluster.local",
			"ssh":{"user":"root","password":%q,"host_keys":"accept-new"},"bundles":{"amd64":%q},
			"nodes":[{"name":"m1","address":%q,"port":%d,"roles":["controlplane","etcd"]},
			{"name":"w1","address":"127.0.0.9","port":1,"roles":["worker"]}]}`, empty, bundle, machine.IP, machine.Port)
		for _, route := range []string{"/check", "/clusters"} {
			code, answer, _ := s.call(token, "POST", "/api/v1"+route, body)
			want("POST "+route, code, answer, "profile.empty")
		}
	}
	if n, keys := machine.Connections(), machine.KeysOffered(); n != 0 || keys != 0 {
		t.Errorf("%d connections to the machine, %d keys were offered", n, keys)
	}
	// The machine does take the key: the command line logs in with it where deploy.yaml names nothing.
	c := &config.Cluster{Nodes: []config.Node{{Name: "m1", IP: netip.MustParseAddr(machine.IP), Port: machine.Port}}}
	c.SSH.User = "root"
	conns, err := dial.New(dial.Options{Home: home}).Connections(operation.Access{Cluster: c,
		HostKeys: remote.AcceptNew, KnownHosts: func() string { return filepath.Join(t.TempDir(), "known_hosts") }})
	if err != nil {
		t.Fatal(err)
	}
	defer conns.Close()
	if _, err := conns.Dial(t.Context(), c.Nodes[0]); err != nil || machine.KeysOffered() == 0 {
		t.Error(err, machine.KeysOffered())
	}
}
