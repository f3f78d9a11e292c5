package sbom

// noAssertion says that no attempt was made to find something out.
const noAssertion = "NOASSERTION"

// document is what of SPDX 2.3 is used, in the names of its JSON form.
type document struct {
	Version   string     `json:"spdxVersion"`
	License   string     `json:"dataLicense"` // of the document itself
	ID        string     `json:"SPDXID"`
	Name      string     `json:"name"`
	Namespace string     `json:"documentNamespace"`
	Creation  creation   `json:"creationInfo"`
	Packages  []pkg      `json:"packages"`
	Relations []relation `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"` // YYYY-MM-DDThh:mm:ssZ
	Creators []string `json:"creators"`
}

type pkg struct {
	ID          string      `json:"SPDXID"`
	Name        string      `json:"name"`
	VersionInfo string      `json:"versionInfo,omitempty"`
	File        string      `json:"packageFileName,omitempty"`
	Purpose     string      `json:"primaryPackagePurpose"`
	Location    string      `json:"downloadLocation"`
	Analyzed    bool        `json:"filesAnalyzed"` // false: nothing looked into it
	Sums        []checksum  `json:"checksums,omitempty"`
	Concluded   string      `json:"licenseConcluded"`
	Declared    string      `json:"licenseDeclared"`
	Copyright   string      `json:"copyrightText"`
	Comment     string      `json:"comment,omitempty"`
	Refs        []reference `json:"externalRefs,omitempty"`
}

type checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type reference struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relation struct {
	From string `json:"spdxElementId"`
	Type string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}
