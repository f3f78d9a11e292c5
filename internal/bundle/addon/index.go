package addon

import (
	"encoding/hex"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"go.yaml.in/yaml/v3"
)

// ChartEntry is a chart as a repository offers it. SHA256 is in hexadecimal, "" when the repository tells none.
type ChartEntry struct {
	Name, Version, URL, SHA256 string
	Deprecated                 bool
}

const maxRange = 256 // bytes of a version or a range

type chartVersion struct {
	Version    string   `yaml:"version"`
	URLs       []string `yaml:"urls"`
	Digest     string   `yaml:"digest"`
	Deprecated bool     `yaml:"deprecated"`
}

// ChartIndexEntry looks a chart up in a classic repository's index.yaml
// (https://helm.sh/docs/topics/chart_repository/), which was fetched from indexURL: relative addresses are resolved
// against it. The version is an exact one, a range ("~1.18", ">=4.0, <5") or "" for the newest, where prereleases are
// only taken when the range names one. The URL is http, https or oci.
func ChartIndexEntry(index []byte, indexURL, name, version string) (ChartEntry, error) {
	e := ChartEntry{Name: name}
	repository := redacted(indexURL)
	if len(index) > maxManifest || marks(index) > 8*maxMarks {
		return e, fault("addon.too-large", nil, "addon", repository, "limit", mib(maxManifest))
	}
	var doc struct {
		Entries map[string]yaml.Node `yaml:"entries"`
	}
	if err := yaml.Unmarshal(index, &doc); err != nil {
		return e, fault("addon.index", err, "repository", repository)
	}
	node, ok := doc.Entries[name]
	if !ok {
		return e, fault("addon.index-chart", nil, "repository", repository, "chart", name)
	}
	var versions []chartVersion
	if err := node.Decode(&versions); err != nil {
		return e, fault("addon.index", err, "repository", repository)
	}
	v, err := choose(versions, version)
	switch {
	case err != nil:
		return e, fault("addon.chart-range", err, "chart", name, "version", version)
	case v == nil:
		return e, fault("addon.index-version", nil, "repository", repository, "chart", name, "version", version)
	}
	e.Version, e.Deprecated = v.Version, v.Deprecated
	if e.URL, err = chartURL(indexURL, v.URLs); err != nil {
		return e, fault("addon.index-url", err, "repository", repository, "chart", name, "version", v.Version)
	}
	e.SHA256 = strings.ToLower(strings.TrimPrefix(v.Digest, "sha256:"))
	if raw, err := hex.DecodeString(e.SHA256); e.SHA256 != "" && (err != nil || len(raw) != 32) {
		return e, fault("addon.index", errors.New("a digest that is not sha256"), "repository", repository)
	}
	return e, nil
}

// choose takes the version as it is written, else the highest in the range; nil if there is none. Versions that are not
// semantic ones can only be taken as written.
func choose(versions []chartVersion, want string) (*chartVersion, error) {
	if i := slices.IndexFunc(versions, func(v chartVersion) bool { return want != "" && v.Version == want }); i >= 0 {
		return &versions[i], nil
	}
	if want == "" {
		want = "*"
	}
	if len(want) > maxRange {
		return nil, errors.New("it is too long")
	}
	allowed, err := semver.NewConstraint(want)
	if err != nil {
		return nil, err
	}
	var best *chartVersion
	var highest *semver.Version
	for i := range versions {
		if len(versions[i].Version) > maxRange {
			continue
		}
		v, err := semver.NewVersion(versions[i].Version)
		if err == nil && allowed.Check(v) && (highest == nil || v.GreaterThan(highest)) {
			best, highest = &versions[i], v
		}
	}
	return best, nil
}

func chartURL(indexURL string, urls []string) (string, error) {
	if len(urls) == 0 {
		return "", errors.New("it has no address")
	}
	base, err := url.Parse(indexURL)
	if err != nil {
		return "", errors.New("the repository's address cannot be read")
	}
	u, err := base.Parse(urls[0])
	if err != nil {
		return "", errors.New("its address cannot be read")
	}
	if u.Host == "" || u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "oci" {
		return "", errors.New("its address is not http, https or oci")
	}
	return u.String(), nil
}

// redacted is a URL without a password.
func redacted(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return "(repository)"
	}
	return u.Redacted()
}
