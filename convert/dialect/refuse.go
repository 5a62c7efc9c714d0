package dialect

// refuser is a dialect whose agent has a result for a call that is not valid.
type refuser interface {
	refuse(document, error) Result
}

// Refuse is the result for a document that [Decode] refused with err, in the
// dialect named or recognised. It reports false where the dialect has no such
// result, or nothing in the document says whose it is.
func Refuse(raw []byte, name string, err error) (Result, bool) {
	doc, _ := open(raw) // the zero document has no id to name
	if name == "" && !doc.bare() {
		name, _ = Recognise(raw)
	}
	d, ok := dialects[name].(refuser)
	if !ok {
		return Result{}, false
	}
	return d.refuse(doc, err), true
}
