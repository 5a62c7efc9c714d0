package ask

// Names say that a secret is meant in many languages and spellings. A name that
// looks like one of them to a person is one: an answer that should not have been
// hidden is a nuisance, one that should have been is out.
var (
	// secretStems say so wherever they are in a name, however it is spaced.
	secretStems = []string{
		"password", "passwd", "pass phrase", "pass code", "pass key",
		"api key", "access key", "private key", "secret key", "auth key", "encryption key", "signing key", "license key", "licence key", "ssh key", "gpg key", "pgp key", "session key",
		"access token", "auth token", "refresh token", "bearer token", "api token", "session token", "bot token", "Zugriffstoken", "Zugangstoken",
		"recovery key", "seed phrase", "mnemonic", "credential",
		"connection string", "connection url", "connection uri", "database url", "database uri", "db url", "db uri", "redis url", "mongo uri", "mongodb uri", "postgres url", "jdbc url",
		"authorization header", "auth header", "session cookie", "auth cookie", "cookie value", "session id",
		"Passwort", "Kennwort", "Passphrase", "Zugangsdaten", "Zugangscode", "API-Schlüssel", "privater Schlüssel", "geheimer Schlüssel",
		"mot de passe", "phrase secrète", "code secret", "clé API", "clé d'API", "clé privée", "clé secrète", "clé d'accès", "jeton d'accès", "identifiants de connexion",
		"contraseña", "contrasenya", "clave API", "clave de API", "clave privada", "clave secreta", "clave de acceso", "código secreto", "código de acceso", "frase de paso", "credencial",
		"palavra-passe", "palavra passe", "chave API", "chave de API", "chave privada", "chave secreta", "chave de acesso",
		"parola d'ordine", "parola chiave", "chiave API", "chiave privata", "chiave segreta", "codice segreto", "credenziali",
		"wachtwoord", "wachtzin", "lösenord", "passord", "adgangskode", "kodeord", "lykilorð", "salasana", "tunnussana",
		"hasło", "heslo", "jelszó", "geslo", "lozinka", "zaporka", "slaptažodis", "parool", "fjalëkalim", "pasahitza", "contrasinal",
		"şifre", "mật khẩu", "kata sandi", "kata laluan",
		"пароль", "парола", "лозинка", "секретный ключ", "приватный ключ", "закрытый ключ", "ключ api", "кодовое слово",
		"κωδικός πρόσβασης", "συνθηματικό",
		"סיסמה", "סיסמא", "كلمة المرور", "كلمة السر", "الرقم السري", "رمز عبور", "گذرواژه",
		"पासवर्ड", "পাসওয়ার্ড", "รหัสผ่าน",
		"密码", "密碼", "口令", "密钥", "密鑰", "私钥", "私鑰", "令牌",
		"パスワード", "パスフレーズ", "秘密鍵", "トークン", "비밀번호", "암호", "패스워드", "비밀키", "토큰",
	}
	// codeStems are stems of what a number can be, too.
	codeStems = []string{
		"recovery code", "backup code", "verification code", "security code", "one time code", "authentication code", "authenticator", "two factor", "pin code", "login code", "digit code",
		"card number", "credit card", "social security number",
		"Geheimzahl", "Einmalcode", "Bestätigungscode", "Sicherheitscode", "Kartennummer",
		"code de vérification", "code à usage unique", "numéro de carte", "código de verificación", "número de tarjeta", "código de verificação", "número do cartão", "codice di verifica", "numero di carta",
		"код подтверждения", "одноразовый код", "验证码", "驗證碼", "暗証番号", "認証コード", "確認コード", "인증번호", "인증 코드",
	}
	// secretWords say so as a word of a name.
	secretWords = []string{
		"pwd", "pswd", "pw", "secret", "secrets", "token", "tokens", "apikey", "bearer", "pat", "dsn",
		"Geheimnis", "jeton", "clave", "senha", "segredo", "segreto", "secreto", "sandi", "parola", "секрет", "токен", "wachtcode",
	}
	// codeWords are words of what a number can be, too.
	codeWords = []string{"pin", "otp", "totp", "mfa", "2fa", "cvv", "cvc", "ssn", "пин"}
	// aloneWords say so where they are the whole name: a primary key is none.
	aloneWords = []string{
		"key", "cookie", "cookies", "authorization", "auth", "tan",
		"Schlüssel", "clé", "chiave", "chave", "llave", "sleutel", "nyckel", "klucz", "klíč", "ключ", "κωδικός", "κλειδί", "密匙", "鍵", "키",
	}

	// topicWords are those of secretWords and codeWords that are common where no
	// secret is asked for: to pin a version, the tokens of a model.
	topicWords = []string{"secrets", "tokens", "pin", "pat", "clave", "parola"}

	// vagueWords name a field and say nothing about what goes there.
	vagueWords = []string{
		"value", "input", "text", "string", "answer", "response", "reply", "result", "data", "field", "content", "entry", "item", "question", "prompt", "code", "message",
		"user", "your", "the", "enter", "type", "please", "here", "custom",
		"Wert", "Eingabe", "Antwort", "Feld", "valeur", "réponse", "saisie", "champ", "valor", "respuesta", "entrada", "campo", "texto", "resposta", "valore", "risposta", "testo",
		"waarde", "antwoord", "invoer", "svar", "wartość", "odpowiedź", "hodnota", "odpověď", "значение", "ответ", "ввод", "τιμή", "απάντηση",
		"值", "输入", "輸入", "回答", "答案", "値", "入力", "값", "입력",
	}

	// aboutWords begin a question that wants to know something about a secret, and
	// not the secret.
	aboutWords = []string{
		"where", "how", "whether", "should", "shall", "when", "who", "why", "does",
		"wo", "wohin", "woher", "soll", "sollen", "wann", "wer", "warum", "où", "comment", "quand", "pourquoi", "faut", "dónde", "cómo", "cuándo", "onde", "como", "dove", "come", "quando",
		"waar", "hoe", "moet", "где", "как", "когда", "почему",
	}
	// requestWords ask for what comes behind them, unless one of betweenWords
	// stands there: a name for the API key.
	requestWords = []string{"enter", "type", "provide", "paste", "supply", "give", "input", "insert", "submit", "need", "needs", "require", "requires", "your"}
	betweenWords = []string{
		"for", "of", "with", "to", "from", "in", "on", "at", "by", "under", "about", "that", "which", "whose", "where", "how", "has", "have", "is", "are", "was", "without", "not", "no",
	}
	// behindWords may come behind what is asked for: a password policy is none.
	behindWords = []string{
		"for", "to", "of", "from", "in", "on", "at", "with", "so", "and", "or", "as", "below", "here", "again", "now", "please", "first", "that", "which", "you", "is", "s",
	}
)
