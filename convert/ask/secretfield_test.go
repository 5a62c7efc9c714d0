package ask_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
)

// Fields that take a secret, of an MCP server's form and of an agent's.
func TestSecretFields(t *testing.T) {
	for _, c := range []struct {
		key, field string
		secret     bool
	}{
		{"password", `{"type":"string"}`, true},
		{"dbPassword", `{"type":"string"}`, true},
		{"github_token", `{"type":"string"}`, true},
		{"api_key", `{"type":"string"}`, true},
		{"apikey", `{"type":"string"}`, true},
		{"x", `{"type":"string","format":"password"}`, true},
		{"x", `{"type":"string","writeOnly":true}`, true},
		{"x", `{"type":"integer","format":"password"}`, true},
		{"x", `{"type":"string","title":"API key"}`, true},
		{"x", `{"type":"string","description":"Your GitHub token"}`, true},
		{"x", `{"type":"string","format":"Password"}`, true},
		{"x", `{"type":"string","title":"Value","description":"Enter your database password"}`, true},
		{"x", `{"type":"string","title":"Passwort"}`, true},
		{"kennwort", `{"type":"string"}`, true},
		{"x", `{"type":"string","title":"Mot de passe"}`, true},
		{"x", `{"type":"string","title":"Clé d’API"}`, true},
		{"x", `{"type":"string","title":"Contraseña"}`, true},
		{"x", `{"type":"string","title":"Contrasen\u0303a"}`, true},
		{"x", `{"type":"string","title":"Hasło do bazy"}`, true},
		{"x", `{"type":"string","title":"Пароль"}`, true},
		{"x", `{"type":"string","title":"Κωδικός πρόσβασης"}`, true},
		{"x", `{"type":"string","title":"密码"}`, true},
		{"x", `{"type":"string","title":"データベースのパスワード"}`, true},
		{"x", `{"type":"string","title":"비밀번호를 입력하세요"}`, true},
		{"x", `{"type":"string","title":"पासवर्ड"}`, true},
		{"x", `{"type":"string","title":"كلمة المرور"}`, true},
		{"x", `{"type":"string","title":"Pass word"}`, true},
		{"x", `{"type":"string","title":"P a s s w o r d"}`, true},
		{"x", `{"type":"string","title":"Pass\u200bword"}`, true},
		{"x", `{"type":"string","title":"P\u00adI\u2060N"}`, true},
		{"x", `{"type":"string","title":"Pаsswоrd"}`, true},
		{"x", `{"type":"string","title":"ＰＡＳＳＷＯＲＤ"}`, true},
		{"x", `{"type":"string","title":"𝐏𝐚𝐬𝐬𝐰𝐨𝐫𝐝"}`, true},
		{"x", `{"type":"string","title":"p4ssw0rd"}`, true},
		{"x", `{"type":"string","title":"tоken"}`, true},
		{"db_pass", `{"type":"string"}`, true},
		{"pin", `{"type":"integer"}`, true},
		{"x", `{"type":"string","title":"Recovery code"}`, true},

		{"passenger", `{"type":"string"}`, false},
		{"pass_rate", `{"type":"string"}`, false},
		{"spinner", `{"type":"string"}`, false},
		{"Secretary", `{"type":"string"}`, false},
		{"x", `{"type":"string","title":"Wie heißt die Datei?"}`, false},
		{"x", `{"type":"string","title":"Название"}`, false},
		{"x", `{"type":"string","title":"ファイル名"}`, false},
		{"x", `{"type":"string","title":"Primary key"}`, false},
		{"x", `{"type":"string","title":"Name","description":"The name of the secret to create"}`, false},
		{"max_tokens", `{"type":"integer"}`, false},
		{"token", `{"type":"string","enum":["bearer","basic"]}`, false},
		{"has_password", `{"type":"boolean"}`, false},
		{"keyboard", `{"type":"string"}`, false},
		{"issue_key", `{"type":"string"}`, false},
		{"tokenizer", `{"type":"string"}`, false},
		{"author", `{"type":"string"}`, false},
	} {
		schema := json.RawMessage(`{"type":"object","properties":{"plain":{"type":"string"},"` + c.key + `":` + c.field + `}}`)
		server, err := ask.ServerForm{Server: "s", Message: "m", Schema: schema}.Call()
		require.NoError(t, err)
		require.Equal(t, c.secret, server.Secret(), "%s %s", c.key, c.field)
		agent, err := ask.AgentForm{Params: json.RawMessage(`{"mode":"form","message":"m","requestedSchema":` + string(schema) + `}`)}.Call()
		require.NoError(t, err)
		require.Equal(t, c.secret, agent.Secret(), "%s %s", c.key, c.field)
		if !c.secret {
			require.Empty(t, ask.SecretFields(schema))
			continue
		}
		require.Equal(t, []string{c.key}, ask.SecretFields(schema))
		require.Equal(t, []convert.Answer{{Text: "a"}, {Text: "(not shown)"}}, server.Shown([]convert.Answer{{Text: "a"}, {Text: "hunter2"}}))
	}
}

// A secret that Codex takes beside its options is one, wherever it says so.
func TestSecretBesideOptions(t *testing.T) {
	for _, c := range []struct {
		question, note string
		secret         bool
	}{{"false", "false", false}, {"true", "true", true}, {"true", "false", true}, {"false", "true", true}} {
		schema := `{"type":"object","properties":{
			"k":{"type":"string","title":"Which key?","oneOf":[{"const":"old","title":"old"},{"const":"None of the above","title":"None of the above"}],"_meta":{"codex":{"isOther":true,"isSecret":` + c.question + `}}},
			"k_note":{"type":"string","_meta":{"codex":{"questionId":"k","role":"user_note","isSecret":` + c.note + `}}}}}`
		form, err := ask.AgentForm{Params: json.RawMessage(`{"mode":"form","message":"m","requestedSchema":` + schema + `}`)}.Call()
		require.NoError(t, err)
		require.Equal(t, c.secret, form.Secret(), "%+v", c)
		o, _, err := form.Read(json.RawMessage(`{"action":"accept","content":{"k":"None of the above","k_note":"hunter2"}}`))
		require.NoError(t, err)
		require.Equal(t, c.secret, o.Answers[0].Text != "hunter2", "%+v", c)
	}
}

// A secret reaches the server, and no record of the answers.
func TestSecretOfAServer(t *testing.T) {
	form, err := ask.ServerForm{Server: "s", Schema: json.RawMessage(`{"type":"object","properties":{"password":{"type":"string","title":"Password"}}}`)}.Call()
	require.NoError(t, err)
	o, reply, err := form.Read(json.RawMessage(`{"action":"accept","content":{"password":"hunter2"}}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"action":"accept","content":{"password":"hunter2"}}`, string(reply))
	require.Equal(t, []convert.Answer{{Text: "(not shown)"}}, o.Answers)
}
