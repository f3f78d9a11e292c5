package node

import "testing"

// What a fault keeps of a program's words is what it says is wrong, without what it says of itself meanwhile.
func TestLastWords(t *testing.T) {
	for name, c := range map[string][2]string{
		"etcd": {`{"level":"info","ts":"2026-11-22T09:52:44.169966Z","caller":"embed/etcd.go:146","msg":"configuring client listeners","listen-client-urls":["https://10.0.0.1:2379"]}
Created symlink /etc/systemd/system/multi-user.target.wants/etcd.service -> /etc/systemd/system/etcd.service.
* etcd.service - etcd, the store of Kubernetes
   Main PID: 2428 (code=exited, status=1/FAILURE)
etcd.service: Main process exited, code=exited, status=1/FAILURE
Failed to start etcd.service - etcd, the store of Kubernetes.
{"level":"warn","ts":"2026-11-22T09:52:44.170271Z","msg":"this is nothing"}
{"level":"fatal","ts":"2026-11-22T09:52:44.170317Z","caller":"etcdmain/etcd.go:183","msg":"discovery failed","error":"error parsing CompactionRetention: time: unknown unit \"d\" in duration \"1d\"","stacktrace":"go.etcd.io/etcd\n\tmain.go:40"}
`, "discovery failed: error parsing CompactionRetention: time: unknown unit \"d\" in duration \"1d\""},
		"kubelet": {`I1122 09:52:44.170317   12 server.go:1] "starting"
E1122 09:52:44.170317   12 run.go:72] "command failed" err="failed to parse"
I1122 09:52:44.170317   12 server.go:2] "ending"`,
			`E1122 09:52:44.170317   12 run.go:72] "command failed" err="failed to parse"`},
		"nothing is wrong": {`{"level":"info","msg":"one"}` + "\n" + `{"level":"info","msg":"two"}`, "one / two"},
		"only systemd": {"a.service: Main process exited\nFailed to start a.service - a.",
			"a.service: Main process exited / Failed to start a.service - a."},
		"others between": {"E1122 09:52:44.1 1 run.go:72] one\npanic: two\nI1122 09:52:44.1 1 run.go:72] three",
			"E1122 09:52:44.1 1 run.go:72] one / panic: two"},
		"no level": {"1\n2\n3\n4\n5\n6\n", "2 / 3 / 4 / 5 / 6"},
		"no log line": {`{"level":3,"msg":"x"}` + "\n{}\n{\"kind\":\"Pod\"}",
			`{"level":3,"msg":"x"} / {} / {"kind":"Pod"}`},
		"empty": {"", ""},
	} {
		if got := lastWords(c[0]); got != c[1] {
			t.Errorf("%s:\n%q\nwant\n%q", name, got, c[1])
		}
	}
}
