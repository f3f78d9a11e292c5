package kubeadm

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver/start"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/phases/node/wait"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

//go:embed pods.sh
var podsLib string

//go:embed make.sh
var makeScript string

//go:embed swap.sh
var swapScript string

// pod is a static pod on a node, as it is to run.
type pod struct {
	r        *Kubeadm
	c        driver.Component
	n        config.Node
	nd       *node.Node
	revision string
	files    []node.File // what it reads, and what its manifest is made with
	beside   []node.File // what kubeadm wants to see of the certificates, whatever it makes, and patches
	program  []node.Binary
}

// pod is a component of a node. Its revision comes from all that it reads and is made of: a renewed certificate is
// another one, and so is another build of the same version, so the kubelet starts the pod again.
func (r *Kubeadm) pod(c driver.Component, n config.Node, nd *node.Node) (*pod, error) {
	p := &pod{r: r, c: c, n: n, nd: nd, program: r.Binaries(n, Program)}
	var err error
	if p.files, err = r.services.Files(c, n); err != nil {
		return nil, err
	}
	conf, err := r.configuration(c, n, "")
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n", conf, digest(r.BundleOf(n).Manifest(), c))
	for _, f := range p.files {
		fmt.Fprintf(h, "%s %o %x\n", f.Path, f.Mode, sha256.Sum256(f.Data))
	}
	for _, b := range p.program {
		fmt.Fprintf(h, "%s\n", b.SHA256)
	}
	p.revision = hex.EncodeToString(h.Sum(nil))[:16]
	if conf, err = r.configuration(c, n, p.revision); err != nil {
		return nil, err
	}
	p.files = append(p.files, node.File{Path: confFile(c), Mode: 0o600, Data: conf})
	ca, front := r.services.PKI(), r.services.PKI().FrontProxyClient
	p.beside = []node.File{
		layout.RootFile(pkiDir+"/ca.crt", ca.CA.Cert), layout.SecretFile(pkiDir+"/ca.key", ca.CA.Key),
		layout.RootFile(pkiDir+"/front-proxy-ca.crt", ca.FrontProxyCA.Cert),
		layout.RootFile(pkiDir+"/front-proxy-client.crt", front.Cert),
		layout.SecretFile(pkiDir+"/front-proxy-client.key", front.Key),
	}
	patch, err := r.patch(c, n)
	if err == nil && patch != nil {
		p.beside = append(p.beside, node.File{Path: patches + "/" + string(c) + "1+strategic.json", Mode: 0o600,
			Data: patch})
	}
	return p, err
}

// patch is what kubeadm's manifest of a component gets on top; nil if nothing.
func (r *Kubeadm) patch(c driver.Component, n config.Node) ([]byte, error) {
	switch c {
	case driver.Etcd:
		return r.etcdPatch(n)
	case driver.APIServer:
		return apiserverPatch(r.services.GracePeriod())
	}
	return nil, nil
}

// apiserverPatch gives an API server as long to stop as it may take: what it works on at the end of the 30 seconds that
// every other pod gets would be cut off. One that does not answer its probes has nothing to finish. It follows from the
// flags, which the revision has.
func apiserverPatch(limit time.Duration) ([]byte, error) {
	dead := doc{"terminationGracePeriodSeconds": 30}
	text, err := json.Marshal(doc{"spec": doc{"terminationGracePeriodSeconds": int64(limit.Seconds()),
		"containers": []doc{{"name": string(driver.APIServer), "livenessProbe": dead, "startupProbe": dead}}}})
	return append(text, '\n'), err
}

// etcdShare has etcd get as much of a busy processor as the API server of its node: kubeadm's manifest asks for 250m
// for the API server and 100m for etcd, and a member that gets too little of it loses the lead and with it the writes
// of all. A service of the binary driver gets as much as any other. It is no part of the revision, so that members that
// run are not restarted for it.
const etcdShare = "250m"

// etcdPatch is what kubeadm's manifest of etcd gets on top: its share, and the places that its flags name, for which
// kubeadm's configuration of etcd has no field.
func (r *Kubeadm) etcdPatch(n config.Node) ([]byte, error) {
	places, err := r.volumes(driver.Etcd, n, r.flags(driver.Etcd, n))
	if err != nil {
		return nil, err
	}
	container := doc{"name": string(driver.Etcd), "resources": doc{"requests": doc{"cpu": etcdShare}}}
	spec := doc{"containers": []doc{container}}
	if len(places) > 0 {
		var volumes, seen []doc
		for _, v := range places {
			volumes = append(volumes, doc{"name": v.Name, "hostPath": doc{"path": v.HostPath, "type": v.PathType}})
			seen = append(seen, doc{"name": v.Name, "mountPath": v.MountPath, "readOnly": v.ReadOnly})
		}
		container["volumeMounts"], spec["volumes"] = seen, volumes
	}
	text, err := json.Marshal(doc{"spec": spec})
	return append(text, '\n'), err
}

// Check implements start.Part.
func (p *pod) Check(ctx context.Context) error {
	return p.r.CheckLinks(ctx, p.n, p.nd, node.Service{Binaries: p.program})
}

// Current implements start.Part.
func (p *pod) Current(ctx context.Context) (bool, error) {
	applied := node.Dir + "/applied/"
	out, err := p.nd.Query(ctx, podsLib+fmt.Sprintf("[ \"$(cat %[1]s 2>/dev/null)\" = %[2]s ] || exit 0\n"+
		"[ -e %[3]s ] && s=$(sha256sum <%[3]s) && [ \"${s%%%% *}\" = \"$(cat %[1]s.manifest 2>/dev/null)\" ] || exit 0\n"+
		"pods\n", shell.Quote(applied+string(p.c)), shell.Quote(p.revision), shell.Quote(manifest(p.c))))
	if err != nil || !p.runsIn(out, true) {
		return false, err
	}
	return p.nd.Same(ctx, p.files)
}

// runsIn says whether what pods printed has the component, in its revision or in any.
func (p *pod) runsIn(out string, this bool) bool {
	is, others := false, false
	for line := range strings.Lines(out) {
		if w := strings.Fields(line); len(w) == 3 && w[0] == string(p.c) {
			is, others = is || w[2] == p.revision, others || w[2] != p.revision
		}
	}
	if !this {
		return is || others
	}
	return is && !others
}

// Runs implements start.Part.
func (p *pod) Runs(ctx context.Context) (bool, error) {
	out, err := p.nd.Query(ctx, podsLib+"pods\n")
	return p.runsIn(out, false), err
}

// phase of kubeadm that makes the manifest.
func (p *pod) phase() string {
	if p.c == driver.Etcd {
		return "etcd local"
	}
	return "control-plane " + strings.TrimPrefix(string(p.c), "kube-")
}

// Prepare implements start.Part: kubeadm makes the manifest beside the one that the kubelet has.
func (p *pod) Prepare(ctx context.Context) error {
	if _, err := p.nd.Put(ctx, slices.Concat(p.beside, p.files)); err != nil {
		return err
	}
	program := p.r.ProgramPath(p.n, Program)
	if len(p.program) > 0 {
		program = p.program[0].File
	}
	script := withoutProxies + values("NAME", string(p.c), "CONF", confFile(p.c), "PATCHES", patches, "KUBEADM",
		program, "POD_UID", newUID()) + "set -- " + p.phase() + "\n" + makeScript
	if p.c == driver.Etcd {
		data := shell.Quote(p.r.EtcdData(p.n.Name))
		script += "[ -d " + data + " ] || mkdir -m 700 " + data + "\n"
	}
	_, err := p.nd.Change(ctx, node.Change{Desc: event.M("change.static-pod-made", "component", string(p.c)),
		Script: script})
	return err
}

// withoutProxies: kubeadm gives the pods that it makes the proxies of its own environment. They are the node's, and
// not those of a cluster.
const withoutProxies = `unset $(env | sed -n 's/^\([A-Za-z0-9_]*_[Pp][Rr][Oo][Xx][Yy]\)=.*/\1/p')` + "\n"

// newUID is one for a pod that is made. Without one the kubelet makes it of all fields of a pod that it knows, so that
// a kubelet of another version would restart every static pod. Each time it is another one: of a pod that has the uid
// of one that runs the kubelet looks at the image alone, and it goes on waiting where that one has failed.
func newUID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // it never fails
	return hex.EncodeToString(id[:])
}

// Restart implements start.Part.
func (p *pod) Restart(ctx context.Context) error {
	_, err := p.nd.Change(ctx, node.Change{Desc: event.M("change.static-pod", "path", manifest(p.c)),
		Script: podsLib + values("NAME", string(p.c), "REVISION", p.revision, "SECONDS_TO_END",
			p.r.secondsToEnd(p.c)) + swapScript +
			node.Written(string(p.c), p.files)})
	return err
}

// values are variables of a script, as names and values.
func values(kv ...string) string {
	var b strings.Builder
	for i := 0; i+1 < len(kv); i += 2 {
		b.WriteString(kv[i] + "=" + shell.Quote(kv[i+1]) + "\n")
	}
	return b.String()
}

// StoppedIn implements start.Part. How long the old one took to end is not known: all of the time counts.
func (p *pod) StoppedIn(context.Context, time.Duration) (time.Duration, error) { return 0, nil }

var _ start.Part = (*pod)(nil)

// startLimit bounds the wait until the new container of a component runs, after the old one has ended; endMargin that
// for the end of one beyond the time that it gets.
const (
	startLimit = 2 * time.Minute
	endMargin  = 2 * time.Minute
)

// endLimit is how long a component may take to end.
func (r *Kubeadm) endLimit(c driver.Component) time.Duration {
	if c == driver.APIServer {
		return endMargin + r.services.GracePeriod()
	}
	return endMargin
}

// then waits for what ran before to end, for the static pod to run in its revision, and then for ready.
func (r *Kubeadm) then(c driver.Component, n config.Node, ready driver.Ready) driver.Ready {
	return func(ctx context.Context, nd *node.Node) error {
		p, err := r.pod(c, n, nd)
		if err != nil {
			return err
		}
		err = p.until(ctx, r.endLimit(c), func(out string) bool { return p.runsIn(out, true) || !p.runsIn(out, false) })
		if err == nil {
			err = p.until(ctx, startLimit, func(out string) bool { return p.runsIn(out, true) })
		}
		if err != nil {
			if f := event.AsFault(err); f.Code == "component.not-started" {
				f.Args["log"] = r.whyNot(context.WithoutCancel(ctx), nd, c)
			}
			return err
		}
		return ready(ctx, nd)
	}
}

// until waits for what runs on the node to be as it should.
func (p *pod) until(ctx context.Context, limit time.Duration, should func(pods string) bool) error {
	return wait.Until(ctx, limit, func(ctx context.Context) error {
		out, err := p.nd.Query(ctx, podsLib+"pods\n")
		if err == nil && should(out) {
			return nil
		}
		if err != nil && ctx.Err() == nil { // a question that the end of the wait cut off is no answer
			return err
		}
		return wait.Again("component.not-started", "component", string(p.c), "log", "").On(p.n.Name)
	})
}

// whyNot are the last words of a component, or where it never came to any those of the kubelet.
func (r *Kubeadm) whyNot(ctx context.Context, nd *node.Node, c driver.Component) string {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if log := r.Log(ctx, nd, c); log != "" {
		return log
	}
	return r.services.Log(ctx, nd, driver.Kubelet)
}

// answers waits until the component answers its health probe.
func (r *Kubeadm) answers(c driver.Component, url string) driver.Ready {
	return wait.AnswersOr(url, func(ctx context.Context, nd *node.Node, err error) *event.Fault {
		return event.NewFault(event.ClassFailed, "component.pod-unhealthy", err, "component", string(c), "log",
			r.Log(ctx, nd, c))
	})
}

// Form implements driver.Driver: it patches the member's manifest, which kubeadm makes for a member that is alone. etcd
// takes the last of several flags of a name.
func (r *Kubeadm) Form(ctx context.Context, n config.Node, nd *node.Node, f driver.Formation) error {
	if !isPod(driver.Etcd, n) {
		return r.services.Form(ctx, n, nd, f)
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(f.Members)) {
		list = append(list, name+"="+f.Members[name])
	}
	var ops []doc
	for _, flag := range []string{"--initial-cluster=" + strings.Join(list, ","), "--initial-cluster-state=" + f.State,
		"--initial-cluster-token=" + r.Cluster.EtcdToken} {
		ops = append(ops, doc{"op": "add", "path": "/spec/containers/0/command/-", "value": flag})
	}
	text, err := json.Marshal(ops)
	if err != nil {
		return err
	}
	_, err = nd.Put(ctx, []node.File{{Path: patches + "/etcd+json.json", Mode: 0o600, Data: append(text, '\n')}})
	return err
}
