package askuserquestion

import base "github.com/acp-bridge/acp-bridge/adapter/askuserquestion"

// The names of adapter/askuserquestion, so that one import is enough.
const (
	ToolName             = base.ToolName
	SDKToolName          = base.SDKToolName
	MaxQuestions         = base.MaxQuestions
	MinOptions           = base.MinOptions
	MaxOptions           = base.MaxOptions
	RecommendedHeaderLen = base.RecommendedHeaderLen
)

// Types of adapter/askuserquestion.
type (
	Params         = base.Params
	Question       = base.Question
	Option         = base.Option
	Request        = base.Request
	Answer         = base.Answer
	Resolver       = base.Resolver
	ResolverFunc   = base.ResolverFunc
	StaticResolver = base.StaticResolver
	StdinResolver  = base.StdinResolver
)

// Errors of adapter/askuserquestion.
var (
	ErrNoQuestions       = base.ErrNoQuestions
	ErrTooManyQuestions  = base.ErrTooManyQuestions
	ErrEmptyQuestion     = base.ErrEmptyQuestion
	ErrEmptyHeader       = base.ErrEmptyHeader
	ErrOptionCount       = base.ErrOptionCount
	ErrEmptyLabel        = base.ErrEmptyLabel
	ErrDuplicateLabel    = base.ErrDuplicateLabel
	ErrResolverCancelled = base.ErrResolverCancelled
)

// Description is what the model reads about the tool.
func Description() string { return base.Description() }

// Validate checks a call against the limits of the tool.
func Validate(p Params) error { return base.Validate(p) }

// Format writes the answers as the result of the tool.
func Format(req Request, answers []Answer) string { return base.Format(req, answers) }
