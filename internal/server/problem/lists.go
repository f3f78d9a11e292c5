package problem

// Page is the part of a list that a request asks for: what comes after an entry, at most limit.
type Page struct {
	After string `query:"after" doc:"The value of next of the page before." maxLength:"256"`
	Limit int    `query:"limit" doc:"At most so many." minimum:"1" maximum:"500" default:"100"`
}

// List is a list, or a part of one.
type List[T any] struct {
	Items []T    `json:"items" nullable:"false"`
	Next  string `json:"next,omitempty" doc:"The value of after for the next page; none: there is no more."`
}
