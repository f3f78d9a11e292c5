package present

import (
	"net/netip"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// The command that continues a run is the one that was given, and finds the cluster where this one found it.
func TestACommandLosesNoFlag(t *testing.T) {
	t.Parallel()
	hooks := request.Hooks{Before: []string{"a.sh,worker"}, OfNodes: true}
	node := config.Node{Name: "w3", IP: netip.MustParseAddr("192.0.2.5"), Port: 2222, Arch: "arm64",
		Roles: []bundle.Role{bundle.ControlPlane, bundle.Worker}}
	alike := func(last byte, roles ...bundle.Role) config.Node {
		return config.Node{IP: netip.AddrFrom4([4]byte{192, 0, 2, last}), Roles: roles}
	}
	here, at := CommandLine{Program: "eggo-tui"}, CommandLine{Program: "eggo-tui", State: "/srv/my state"}
	for _, c := range []struct {
		q    request.Request
		at   CommandLine
		want string
	}{
		{request.Deploy{}, CommandLine{Program: "eggo"}, "eggo deploy --id c"},
		{request.Deploy{}, CommandLine{Program: "eggo", Foreground: "deploy"}, "eggo deploy --id c --foreground"},
		{request.Deploy{Common: request.Common{Limit: []string{"w1", "role:etcd"}, HostKeys: "strict",
			OnFailure: request.OnFailure{Do: event.TryAgain, Retries: 2}, Hooks: hooks}}, at,
			"eggo-tui deploy --id c --state-dir '/srv/my state' --host-keys strict --on-failure retry=2" +
				" --prehook a.sh,worker --limit w1,role:etcd"},
		{request.Delete{Names: []string{"w1", "192.0.2.5"}, Drain: 2 * request.DrainTimeout, Purge: true, Force: true},
			here, "eggo-tui delete --id c w1 192.0.2.5 --drain-timeout 10m0s --purge --force"},
		{request.Delete{Names: []string{"w1"}, Drain: request.DrainTimeout}, at,
			"eggo-tui delete --id c w1 --state-dir '/srv/my state'"},
		{request.Import{Node: "192.0.2.11", Login: request.Login{User: "ops", Key: "/k"}, Port: 2222,
			Sudo: "prompt"}, here, "eggo-tui import --id c --port 2222 192.0.2.11 --user ops --key /k" +
			" --sudo-password-from prompt"},
		{request.Join{Nodes: []config.Node{node}}, here,
			"eggo-tui join --id c --type master,worker --arch arm64 --name w3 --port 2222 192.0.2.5"},
		{request.Join{Nodes: []config.Node{alike(5, bundle.Etcd), alike(6, bundle.Etcd)}}, here,
			"eggo-tui join --id c --type etcd 192.0.2.5 192.0.2.6"},
		{request.Join{Nodes: []config.Node{node, alike(6, bundle.Etcd), alike(7), alike(8, bundle.Etcd)}}, at,
			"eggo-tui join --id c --type master,worker --arch arm64 --name w3 --port 2222 192.0.2.5" +
				" --state-dir '/srv/my state' && " +
				"eggo-tui join --id c --type etcd 192.0.2.6 192.0.2.8 --state-dir '/srv/my state' && " +
				"eggo-tui join --id c 192.0.2.7 --state-dir '/srv/my state'"},
		{request.Join{Nodes: []config.Node{node}, Logins: map[string]request.Login{"192.0.2.5": {User: "ops"}}}, here,
			"eggo-tui join --id c --type master,worker --arch arm64 --name w3 --port 2222 '192.0.2.5 user=ops'"},
		{request.Join{Nodes: []config.Node{alike(5), alike(6)},
			Logins: map[string]request.Login{"192.0.2.6": {User: "ops", Key: "/my keys/k"}}}, here,
			"eggo-tui join --id c 192.0.2.5 '192.0.2.6 user=ops key=\"/my keys/k\"'"},
		{request.Join{Nodes: []config.Node{alike(5), alike(6), alike(7)}, Settings: map[string]config.NodeSettings{
			"192.0.2.6": {Labels: map[string]string{"disk": "ssd", "a": ""}},
			"192.0.2.7": {Taints: []config.Taint{{Key: "d", Value: "e", Effect: "NoSchedule"}}}}}, here,
			"eggo-tui join --id c 192.0.2.5 && eggo-tui join --id c --label a= --label disk=ssd 192.0.2.6 && " +
				"eggo-tui join --id c --taint d=e:NoSchedule 192.0.2.7"},
		{request.Join{Nodes: []config.Node{node}, List: "/my list"}, here,
			"eggo-tui join --id c -f '/my list'"},
		{request.Cleanup{Nodes: []string{"a", "b"}, Purge: true}, at,
			"eggo-tui cleanup --id c --node a,b --state-dir '/srv/my state' --purge"},
		{request.Renew{Common: request.Common{Trust: request.Trust{Signers: "/s", AllowUnsigned: true}}},
			here, "eggo-tui certs renew --id c --signers /s --allow-unsigned"},
		{request.NewUpgrade(request.Common{}, "/a b", "/c"), here,
			"eggo-tui upgrade --id c --bundle '/a b' --bundle /c"},
		{request.Upgrade{Common: request.Common{Limit: []string{"w1"}}, Bundles: []string{"/b"}, Drain: time.Minute,
			Force: true, Batch: "10%", Probe: "curl -f http://x", Window: "22:00-06:00", Packages: true}, at,
			"eggo-tui upgrade --id c --bundle /b --drain-timeout 1m0s --force --soak 0s --batch 10%" +
				" --probe 'curl -f http://x' --window 22:00-06:00 --packages --state-dir '/srv/my state' --limit w1"},
		{request.Back{}, here, "eggo-tui upgrade --back --id c"},
		{request.Back{Drain: time.Minute, Force: true}, here,
			"eggo-tui upgrade --back --id c --drain-timeout 1m0s --force"},
		{request.Restore{Snapshot: "/a b"}, here, "eggo-tui etcd restore '/a b' --id c"},
		{request.Backup{Dir: "/b", Keep: 7, Key: request.BackupKey{Passphrase: "file:/p"}}, here,
			"eggo-tui backup run --id c --dir /b --keep 7 --passphrase-from file:/p"},
		{request.Backup{Recipients: []string{"age1x", "age1y"}}, here,
			"eggo-tui backup run --id c --recipient age1x --recipient age1y"},
	} {
		call := c.q.Call()
		call.Cluster = "c"
		if got := c.at.Words(call); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	if got := at.Words(event.Call{Verb: "cleanup", File: "/my.yaml"}); got !=
		"eggo-tui cleanup -f /my.yaml --state-dir '/srv/my state'" {
		t.Error(got)
	}
}
