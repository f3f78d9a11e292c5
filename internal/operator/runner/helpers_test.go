package runner

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/run/journal"
)

func gunzip(data []byte) (io.Reader, error) { return gzip.NewReader(bytes.NewReader(data)) }

// lease returns the Lease of the cluster "sim" with another holder, which has just renewed it.
func lease(holder string) *coordinationv1.Lease {
	text, _ := json.Marshal(journal.Holder{Program: "eggops", Verb: "upgrade", Host: holder, User: "ns"})
	seconds, now := int32(3600), metav1.NewMicroTime(time.Now())
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: v1.LeaseName("sim"),
			Annotations: map[string]string{v1.Group + "/holder": string(text)}},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &now},
	}
}
