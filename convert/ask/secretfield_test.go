package ask_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
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
		{"x", `{"type":"string","title":"PAT"}`, true},
		{"github_pat", `{"type":"string"}`, true},
		{"x", `{"type":"string","title":"2FA code"}`, true},
		{"twoFactorCode", `{"type":"integer"}`, true},
		{"x", `{"type":"string","title":"Einmalcode"}`, true},
		{"x", `{"type":"string","title":"Κωδικός"}`, true},
		{"x", `{"type":"string","title":"Schlüssel"}`, true},
		{"key", `{"type":"string","title":"Key"}`, true},
		{"DATABASE_URL", `{"type":"string"}`, true},
		{"x", `{"type":"string","title":"Authorization header"}`, true},
		{"cookie", `{"type":"string"}`, true},
		{"sessionId", `{"type":"string","title":"Session id"}`, true},
		{"x", `{"type":"string","title":"Card number"}`, true},
		{"card_number", `{"type":"integer"}`, true},
		{"verification_code", `{"type":"integer"}`, true},
		{"x", `{"type":"string","oneOf":[],"enum":["a"],"title":"Password"}`, true},

		{"passenger", `{"type":"string"}`, false},
		{"password_length", `{"type":"integer"}`, false},
		{"x", `{"type":"string","title":"Cookie banner"}`, false},
		{"x", `{"type":"string","title":"Ταχυδρομικός κωδικός"}`, false},
		{"x", `{"type":"string","title":"Primärschlüssel"}`, false},
		{"path", `{"type":"string"}`, false},
		{"base_url", `{"type":"string"}`, false},
		{"session", `{"type":"string"}`, false},
		{"x", `{"type":"string","title":"Country code"}`, false},
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
		server := acptest.Must(ask.ServerForm{Server: "s", Message: "m", Schema: schema}.Call())
		require.Equal(t, c.secret, server.Secret(), "%s %s", c.key, c.field)
		agent := acptest.Must(ask.AgentForm{Params: json.RawMessage(`{"mode":"form","message":"m","requestedSchema":` + string(schema) + `}`)}.Call())
		require.Equal(t, c.secret, agent.Secret(), "%s %s", c.key, c.field)
		if !c.secret {
			require.Empty(t, ask.SecretFields("m", schema))
			continue
		}
		require.Equal(t, []string{c.key}, ask.SecretFields("m", schema))
		require.Equal(t, []convert.Answer{{Text: "a"}, {Text: "(not shown)"}}, server.Shown([]convert.Answer{{Text: "a"}, {Text: "hunter2"}}))
	}
}

// What a form's message asks for is a secret where its fields do not say that they
// take something else.
func TestSecretOfAMessage(t *testing.T) {
	const value = `"value":{"type":"string","title":"Value"}`
	for _, c := range []struct {
		message, fields string
		secret          bool
	}{
		{"Enter your GitHub password", value, true},
		{"Enter your API key", value, true},
		{"Please enter the passphrase for key ~/.ssh/id_ed25519:", value, true},
		{"What is your OTP?", `"value":{"type":"string"}`, true},
		{"What is the token for GitHub?", value, true},
		{"Which password should I use?", value, true},
		{"Enter the 6-digit code from your authenticator app", `"value":{"type":"string","title":"Code"}`, true},
		{"Enter the 6-digit code from your authenticator app", `"value":{"type":"integer"}`, true},
		{"Enter your PIN", `"value":{"type":"integer"}`, true},
		{"[sudo] password for me:", `"input":{"type":"string"}`, true},
		{"Passwort eingeben", `"wert":{"type":"string","title":"Wert"}`, true},
		{"Wie lautet Ihr Passwort?", `"x":{"type":"string"}`, true},
		{"Bitte Zugangsdaten", `"q0":{"type":"string"}`, true},
		{"请输入密码", `"value":{"type":"string","title":"值"}`, true},
		{"The password has expired. Please type a new one.", `"answer":{"type":"string","description":"Your answer"}`, true},
		{"Enter your p4ssword", value, true},
		{"Enter your GitHub password", `"github":{"type":"string"}`, true},
		{"Please paste your API key so that I can go on.", `"continue":{"type":"string"}`, true},
		{"Password for prod:", `"prod":{"type":"string"}`, true},

		{"Where shall passwords be kept?", `"store":{"type":"string"}`, false},
		{"Where shall passwords be kept?", value, false},
		{"How should the API key be stored?", value, false},
		{"Wo sollen Passwörter liegen?", value, false},
		{"What should I do with the API key?", value, false},
		{"What is the best way to store credentials?", value, false},
		{"Which version should I pin?", value, false},
		{"Did the tests pass?", value, false},
		{"How many tokens may an answer have?", value, false},
		{"Enter a name for the API key", `"name":{"type":"string","title":"Name"}`, false},
		{"Enter your password policy", `"policy":{"type":"string"}`, false},
		{"The API key has expired. What shall I do?", `"action":{"type":"string"}`, false},
		{"Whose password shall be reset?", `"user_name":{"type":"string"}`, false},
		{"Which file has the connection string?", `"file":{"type":"string"}`, false},
		{"Enter your password", `"sure":{"type":"boolean"}`, false},
		{"Enter your password", `"how":{"type":"string","enum":["here","there"]}`, false},
		{"Set up password hashing", `"rounds":{"type":"integer"}`, false},
		{"What is your name?", value, false},
	} {
		schema := json.RawMessage(`{"type":"object","properties":{` + c.fields + `}}`)
		server := acptest.Must(ask.ServerForm{Server: "password-store", Message: c.message, Schema: schema}.Call())
		require.Equal(t, c.secret, server.Secret(), "%+v", c)
		message := acptest.Must(json.Marshal(c.message))
		agent := acptest.Must(ask.AgentForm{Params: json.RawMessage(`{"mode":"form","message":` + string(message) + `,"requestedSchema":` + string(schema) + `}`)}.Call())
		require.Equal(t, c.secret, agent.Secret(), "%+v", c)
		require.Equal(t, c.secret, len(ask.SecretFields(c.message, schema)) > 0, "%+v", c)
	}
}

// A message names the field that takes the secret, not those beside it.
func TestSecretFieldBesideOthers(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"value":{"type":"string"},"password":{"type":"string"}}}`)
	require.Equal(t, []string{"password"}, ask.SecretFields("Enter your password", schema))
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
		form := acptest.Must(ask.AgentForm{Params: json.RawMessage(`{"mode":"form","message":"m","requestedSchema":` + schema + `}`)}.Call())
		require.Equal(t, c.secret, form.Secret(), "%+v", c)
		o, _ := acptest.Must2(form.Read(json.RawMessage(`{"action":"accept","content":{"k":"None of the above","k_note":"hunter2"}}`)))
		require.Equal(t, c.secret, o.Answers[0].Text != "hunter2", "%+v", c)
	}
}

// A secret reaches the server, and no record of the answers.
func TestSecretOfAServer(t *testing.T) {
	form := acptest.Must(ask.ServerForm{Server: "s", Schema: json.RawMessage(`{"type":"object","properties":{"password":{"type":"string","title":"Password"}}}`)}.Call())
	o, reply := acptest.Must2(form.Read(json.RawMessage(`{"action":"accept","content":{"password":"hunter2"}}`)))
	require.JSONEq(t, `{"action":"accept","content":{"password":"hunter2"}}`, string(reply))
	require.Equal(t, []convert.Answer{{Text: "(not shown)"}}, o.Answers)
}
