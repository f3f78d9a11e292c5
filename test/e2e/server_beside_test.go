package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// commandLine has the command line work on a cluster of the server: the server shows its run, refuses another one
// meanwhile, and cancels it.
func (v *server) commandLine(name string, nodes []any) {
	v.t.Helper()
	v.Say("== the command line renews the certificates, and the server cancels that")
	over := make(chan stand.Try, 1)
	go func() {
		got, err := v.Try(v.t.Context(), "", "certs", "renew", "--id", name)
		if err != nil {
			got.Out += err.Error()
		}
		over <- got
	}()
	must(v.t, "Updating", stand.Until(v.t.Context(), time.Minute, "the server shows the run",
		func(context.Context) error {
			if is := v.cluster(name); is.State != "Updating" || is.Operation == nil || is.Operation.Kind != "renew" {
				return fmt.Errorf("%+v", is)
			}
			return nil
		}))
	v.refused("PUT", "/clusters/"+name, map[string]any{"nodes": nodes}, 409, "manager.busy")
	v.changing(name)
	v.call("POST", "/clusters/"+name+"/cancel", nil, 202, nil)
	if got := <-over; got.Code != 130 {
		v.t.Errorf("the command line ended with %d:\n%s", got.Code, tail(got.Out, 20))
	}
	v.awaits(name, "Unavailable", 5*time.Minute)
	v.idle("n1", "n2", "n3")
	v.call("POST", "/clusters/"+name+"/continue", nil, 202, nil)
	v.awaits(name, "Running", 15*time.Minute)
}

// onlySSH lets nothing but SSH through to the control plane: the cluster stays Running, also for a server that begins
// anew, and its nodes can be listed.
func (v *server) onlySSH(name string) {
	v.t.Helper()
	v.Say("== a firewall lets only SSH through")
	host, err := v.Lab.Run(v.t.Context(), "n1", "ip route show default | awk '{print $3, $5}'")
	must(v.t, "this machine as n1 sees it", err)
	f := strings.Fields(host)
	drop := fmt.Sprintf(" INPUT -i %s -p tcp --dport 6443 -s %s -j DROP", f[1], f[0])
	_, err = v.Lab.Run(v.t.Context(), "n1", "iptables -I"+drop)
	must(v.t, "firewall", err)
	v.killedIn(name, "Running", "Connecting")
	v.awaits(name, "Running", 2*time.Minute)
	for end := time.Now().Add(40 * time.Second); time.Now().Before(end); {
		if is := v.cluster(name); is.State != "Running" {
			v.t.Fatalf("behind the firewall %s is %+v", name, is)
		}
		var list struct{ Items []struct{ Name string } }
		v.call("GET", "/clusters/"+name+"/nodes", nil, 200, &list)
		if len(list.Items) != 3 {
			v.t.Fatalf("%+v", list)
		}
		select {
		case <-v.t.Context().Done():
			return
		case <-time.After(5 * time.Second):
		}
	}
	_, err = v.Lab.Run(v.t.Context(), "n1", "iptables -D"+drop)
	must(v.t, "firewall", err)
}

// keepsSecrets wants no secret in what the server and the runs wrote, and in what was answered.
func (v *server) keepsSecrets(name, key string) {
	v.t.Helper()
	line := strings.Split(key, "\n")[3] // whole, so that it looks the same everywhere
	secrets := map[string]string{"the SSH key": line, "the password": "a long enough passphrase", "the token": v.token}
	looked := 0
	for _, dir := range []string{v.data, filepath.Join(v.State(), name, "runs")} {
		must(v.t, dir, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			if strings.HasPrefix(path, filepath.Join(v.data, "clusters")+"/") && strings.Contains(path, "key") {
				return nil // where it is kept, for root alone
			}
			data, err := os.ReadFile(path)
			looked++
			for what, secret := range secrets {
				if bytes.Contains(data, []byte(secret)) {
					v.t.Errorf("%s has %s", path, what)
				}
			}
			return err
		}))
	}
	if looked < 5 {
		v.t.Errorf("only %d files were looked at", looked)
	}
	for _, what := range []string{"the SSH key", "the password"} {
		if bytes.Contains(v.said.Bytes(), []byte(secrets[what])) {
			v.t.Errorf("an answer has %s", what)
		}
	}
}
