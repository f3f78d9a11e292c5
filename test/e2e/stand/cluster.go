package stand

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Eggo runs eggo-tui on the stand's state directory and returns its exit code.
func (s *Stand) Eggo(ctx context.Context, args ...string) (int, error) {
	c := s.Command(ctx, s.Program("eggo-tui"), append(args, "--state-dir", s.State())...)
	err := c.Run()
	if c.ProcessState != nil && c.ProcessState.ExitCode() > 0 {
		return c.ProcessState.ExitCode(), nil
	}
	return 0, err
}

// State is the state directory of eggo-tui.
func (s *Stand) State() string { return filepath.Join(s.Dir, "state") }

// Limit returns the usual limit, longer where a node of the lab is slow.
func (s *Stand) Limit(usual time.Duration) time.Duration {
	nodes, err := s.Lab.List()
	if err != nil {
		return usual
	}
	slowest := 1.0
	for _, n := range nodes {
		slowest = max(slowest, n.Slowness)
	}
	// Much of what a cluster waits for is intervals and not computing: no more than ten times as long.
	return time.Duration(float64(usual) * min(slowest, 10))
}

// Until tries f until it succeeds or the time is over; it looks again every second and tells the last error.
func Until(ctx context.Context, limit time.Duration, what string, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var last error
	for {
		err := f(ctx)
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil { // what was cut off by the limit says nothing
			last = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s, within %s: %w", what, limit, last)
		case <-tick.C:
		}
	}
}

// kubectl on a node, with its cache where it does not show in the comparison of before and after.
const kubectl = "KUBECACHEDIR=/run/kubectl-cache kubectl --kubeconfig /etc/kubernetes/admin.conf"

const agnhost = "registry.k8s.io/e2e-test-images/agnhost:2.57"

const workload = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: kubernetes.io/hostname
        whenUnsatisfiable: DoNotSchedule
        nodeTaintsPolicy: Honor
        labelSelector: {matchLabels: {app: web}}
        matchLabelKeys: [pod-template-hash] # the old replicas do not count
      terminationGracePeriodSeconds: 1
      containers:
      - name: web
        image: ` + agnhost + `
        args: [netexec, --http-port=8080]
        ports: [{containerPort: 8080}]
        readinessProbe: {httpGet: {path: /hostname, port: 8080}, periodSeconds: 1}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: NodePort, selector: {app: web}, ports: [{port: 80, targetPort: 8080, nodePort: 30080}]}
`

// StartWorkload deploys two replicas behind a Service.
func (s *Stand) StartWorkload(ctx context.Context) error {
	return s.Apply(ctx, workload)
}

type pod struct{ Name, Node, IP string }

func (s *Stand) pods(ctx context.Context) ([]pod, error) {
	out, err := s.Kubectl(ctx, "get", "pods", "-l", "app=web", "-o", "json")
	if err != nil {
		return nil, err
	}
	var list struct {
		Items []struct {
			Metadata struct{ Name string }
			Spec     struct{ NodeName string }
			Status   struct {
				PodIP      string
				Conditions []struct{ Type, Status string }
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		return nil, err
	}
	var pods []pod
	for _, i := range list.Items {
		for _, c := range i.Status.Conditions {
			if c.Type == "Ready" && c.Status == "True" {
				pods = append(pods, pod{i.Metadata.Name, i.Spec.NodeName, i.Status.PodIP})
			}
		}
	}
	return pods, nil
}

// Works proves that the cluster of the nodes n1 to nN works, as WorksOn does.
func (s *Stand) Works(ctx context.Context, nodes int) error {
	var names []string
	for k := 1; k <= nodes; k++ {
		names = append(names, fmt.Sprintf("n%d", k))
	}
	return s.WorksOn(ctx, names...)
}

// WorksOn proves that the cluster works: it has these nodes with a kubelet, all Ready, and no other; two replicas on
// different nodes; ClusterIP, NodePort and Service name answer from every pod, so from the other node's too; ClusterIP
// and NodePort from every node itself; kubectl logs and exec.
func (s *Stand) WorksOn(ctx context.Context, nodes ...string) error {
	return Until(ctx, s.Limit(3*time.Minute), "the cluster works",
		func(ctx context.Context) error { return s.works(ctx, nodes) })
}

// connects calls each of the targets from a pod, in one exec, which takes long on a slow node.
const connects = `t=$1; shift; r=0
for a; do /agnhost connect --timeout="$t" "$a" || { echo "no answer of $a"; r=1; }; done
exit $r`

func (s *Stand) works(ctx context.Context, nodes []string) error {
	out, err := s.Kubectl(ctx, "get", "nodes", "--no-headers")
	if err != nil {
		return err
	}
	if n := strings.Count(out, " Ready "); n != len(nodes) || strings.Count(out, "\n") != len(nodes) {
		return fmt.Errorf("%d nodes are Ready, and not just %s:\n%s", n, strings.Join(nodes, " "), out)
	}
	pods, err := s.pods(ctx)
	if err != nil {
		return err
	}
	if len(pods) != 2 || len(nodes) > 1 && pods[0].Node == pods[1].Node {
		return fmt.Errorf("not two ready replicas on different nodes: %v", pods)
	}
	ip, err := s.Kubectl(ctx, "get", "service", "web", "-o", "jsonpath={.spec.clusterIP}")
	if err != nil {
		return err
	}
	node, err := s.Lab.Address(nodes[0])
	if err != nil {
		return err
	}
	answer := s.Limit(5 * time.Second)
	var all error
	targets := []string{ip + ":80", node + ":30080", "web:80", "web.default.svc.cluster.local:80", pods[0].IP + ":8080",
		pods[1].IP + ":8080"}
	for _, p := range pods {
		args := append([]string{"exec", p.Name, "--", "sh", "-c", connects, "sh", answer.String()}, targets...)
		if out, err := s.Kubectl(ctx, args...); err != nil {
			all = errors.Join(all, fmt.Errorf("from %s on %s: %s%w", p.Name, p.Node, out, err))
		}
		if _, err := s.Kubectl(ctx, "logs", p.Name); err != nil {
			all = errors.Join(all, err)
		}
	}
	for _, name := range nodes {
		for _, target := range []string{ip + ":80", node + ":30080"} {
			out, err := s.Lab.Run(ctx, name,
				fmt.Sprintf("curl -sS -m %.0f http://%s/hostname", answer.Seconds(), target))
			if err != nil || !strings.HasPrefix(out, "web-") {
				all = errors.Join(all, fmt.Errorf("from %s itself to %s: %q %w", name, target, out, err))
			}
		}
	}
	return all
}

// LastRun reads the event log of the newest run.
func (s *Stand) LastRun(cluster string) ([]byte, error) {
	runs, err := os.ReadDir(filepath.Join(s.State(), cluster, "runs"))
	if err != nil || len(runs) == 0 {
		return nil, errors.Join(err, errors.New("no run"))
	}
	return os.ReadFile(filepath.Join(s.State(), cluster, "runs", runs[len(runs)-1].Name(), "events.jsonl"))
}
