package runner

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// LogKey is the key of the event log in its Secret.
const LogKey = "events.jsonl.gz"

const (
	// mostLog is how many bytes of a compressed event log are kept.
	mostLog = 700 << 10
	// leftOutAnnotation says how many records are missing in the middle of a log.
	leftOutAnnotation = v1.Group + "/records-left-out"
)

// keepLog writes the event log of the run to its Secret.
func (r *runner) keepLog(ctx context.Context, dir string) error {
	name := v1.LogSecret(r.op.Name)
	text, err := os.ReadFile(filepath.Join(dir, "events.jsonl"))
	if err != nil {
		return event.NewFault(event.ClassFailed, "state.read", err)
	}
	data, leftOut, err := compress(text, mostLog)
	if err != nil {
		return event.NewFault(event.ClassFailed, "state.read", err)
	}
	s := r.secret(name)
	s.Data = map[string][]byte{LogKey: data}
	if leftOut > 0 {
		s.Annotations = map[string]string{leftOutAnnotation: strconv.Itoa(leftOut)}
	}
	if err := r.apply(ctx, s); err != nil {
		return err
	}
	r.board.set(func(st *v1.OperationStatus) { st.LogSecretRef = &v1.SecretReference{Name: name} })
	return nil
}

// keepKubeconfig makes the Secret of the cluster's kubeconfig what the cluster's directory has; after a cleanup it has
// none.
func (r *runner) keepKubeconfig(ctx context.Context) error {
	s := r.secret(v1.KubeconfigSecret(r.op.Spec.ClusterRef.Name))
	text, err := os.ReadFile(filepath.Join(r.clusterDir(), "admin.conf"))
	switch {
	case err == nil:
		s.Data = map[string][]byte{v1.KubeconfigKey: text}
	case !errors.Is(err, fs.ErrNotExist):
		return event.NewFault(event.ClassFailed, "state.read", err)
	case r.op.Spec.Verb != v1.VerbCleanup: // it was not made yet
		return nil
	}
	return r.apply(ctx, s)
}

// secret returns a Secret of the run as it is applied.
func (r *runner) secret(name string) *corev1.Secret {
	return &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, Type: corev1.SecretTypeOpaque,
		ObjectMeta: metav1.ObjectMeta{Namespace: r.o.Namespace, Name: name, Labels: map[string]string{
			v1.LabelCluster: r.op.Spec.ClusterRef.Name, v1.LabelOperation: r.op.Name}}}
}

func (r *runner) apply(ctx context.Context, s *corev1.Secret) error {
	ctx = context.WithoutCancel(ctx)
	err := retry(ctx, func() error {
		return r.o.Client.Patch(ctx, s.DeepCopy(), client.Apply, client.FieldOwner(FieldManager), client.ForceOwnership)
	})
	if err != nil {
		return event.NewFault(event.ClassFailed, "state.secret-write", err, "secret", s.Name)
	}
	return nil
}

// compress returns lines compressed to at most so many bytes, and how many lines are left out for that: of the middle,
// so that head and tail remain.
func compress(text []byte, most int) (data []byte, leftOut int, err error) {
	lines := bytes.SplitAfter(text, []byte("\n"))
	if data, err = zip(lines); err != nil || len(data) <= most {
		return data, 0, err
	}
	// As many lines at each end as fit: low do, high are more than can be expected to.
	low, high := 0, min(len(lines)/2, len(lines)*most/len(data)*2/3+2)
	data, err = zip(nil)
	for high-low > 1 && err == nil {
		n := (low + high) / 2
		var part []byte
		if part, err = zip(append(lines[:n:n], lines[len(lines)-n:]...)); err != nil {
			break
		}
		if len(part) <= most {
			low, data = n, part
		} else {
			high = n
		}
	}
	return data, len(lines) - 2*low, err
}

func zip(lines [][]byte) ([]byte, error) {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	for _, l := range lines {
		if _, err := z.Write(l); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
