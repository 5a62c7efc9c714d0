package ask

import (
	"slices"
	"strings"
	"sync"
	"unicode"
)

// Names say that a secret is meant in many languages and spellings. A name that
// looks like one of them to a person is one: an answer that should not have been
// hidden is a nuisance, one that should have been is out.
var (
	// secretStems say so wherever they are in a name, however it is spaced.
	secretStems = folded(
		"password", "passwd", "pass phrase", "pass code", "pass key",
		"api key", "access key", "private key", "secret key", "auth key", "encryption key", "signing key", "license key", "licence key", "ssh key", "gpg key", "pgp key",
		"recovery code", "recovery key", "backup code", "verification code", "security code", "one time code", "seed phrase", "mnemonic", "connection string", "credential",
		"Passwort", "Kennwort", "Passphrase", "Zugangsdaten", "Zugangscode", "Geheimzahl", "API-Schlüssel", "privater Schlüssel", "geheimer Schlüssel",
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
		"密码", "密碼", "口令", "密钥", "密鑰", "私钥", "私鑰", "令牌", "验证码", "驗證碼",
		"パスワード", "パスフレーズ", "暗証番号", "秘密鍵", "トークン", "비밀번호", "암호", "패스워드", "비밀키", "토큰",
	)
	// secretWords say so as a word of a name.
	secretWords = folded(
		"pwd", "pswd", "pw", "secret", "secrets", "token", "tokens", "pin", "otp", "totp", "mfa", "cvv", "cvc", "apikey", "bearer",
		"Geheimnis", "jeton", "clave", "senha", "segredo", "segreto", "secreto", "sandi", "parola", "секрет", "токен", "пин", "wachtcode",
	)
	// numberWords are those that a number can be.
	numberWords = folded("pin", "otp", "totp", "mfa", "cvv", "cvc", "пин")
)

// stemsByByte are the stems by their first byte.
var stemsByByte = sync.OnceValue(func() *[256][]string {
	by := &[256][]string{}
	for _, stem := range secretStems() {
		by[stem[0]] = append(by[stem[0]], stem)
	}
	return by
})

// secretName reports whether a name says that a secret is meant.
func secretName(name string) bool {
	return spelled(name, func(s, joined string) bool { return hasStem(joined) || hasWord(s, joined, secretWords()) })
}

// secretStem reports a name that says so beyond doubt, also in a sentence.
func secretStem(name string) bool {
	return spelled(name, func(_, joined string) bool { return hasStem(joined) })
}

func secretWord(name string, secret []string) bool {
	return spelled(name, func(s, joined string) bool { return hasWord(s, joined, secret) })
}

// spelled asks about a name as it is written, and as it looks to a person who
// reads Latin letters, each also as its letters alone.
func spelled(name string, is func(s, joined string) bool) bool {
	plain := fold(name)
	if is(plain, letters(plain)) {
		return true
	}
	latin := strings.Map(lookAlike, plain)
	return latin != plain && is(latin, letters(latin))
}

func hasStem(joined string) bool {
	stems := stemsByByte()
	for i := range len(joined) {
		for _, stem := range stems[joined[i]] {
			if strings.HasPrefix(joined[i:], stem) {
				return true
			}
		}
	}
	return false
}

func hasWord(name, joined string, secret []string) bool {
	words := nameWords(name)
	for i, word := range words {
		if slices.Contains(secret, word) || word == "pass" && i == len(words)-1 {
			return true
		}
	}
	return slices.Contains(secret, joined) // p i n
}

// folded are names as they are compared, made when the first one is: most
// processes never see a form.
func folded(names ...string) func() []string {
	return sync.OnceValue(func() []string {
		for i, n := range names {
			names[i] = letters(fold(n))
		}
		return names
	})
}

// letters are those of a name, in lower case and without what is between them.
func letters(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}

// accents are letters with marks, by the letter without them.
var accents = sync.OnceValue(func() map[rune]rune {
	m := map[rune]rune{}
	for letter, marked := range map[rune]string{
		'a': "àáâãäåāăąǎạảấầẩẫậắằẳẵặ", 'c': "çćĉċč", 'd': "ďđ", 'e': "èéêëēĕėęěẹẻẽếềểễệ", 'g': "ĝğġģ", 'h': "ĥħ",
		'i': "ìíîïĩīĭįıỉị", 'j': "ĵ", 'k': "ķ", 'l': "ĺļľŀł", 'n': "ñńņňŉ", 'o': "òóôõöøōŏőơọỏốồổỗộớờởỡợ",
		'r': "ŕŗř", 's': "śŝşšș", 't': "ţťŧț", 'u': "ùúûüũūŭůűųưụủứừửữự", 'w': "ŵ", 'y': "ýÿŷỳỵỷỹ", 'z': "źżž",
		'ο': "ό", 'α': "ά", 'ε': "έ", 'η': "ή", 'ι': "ίϊΐ", 'υ': "ύϋΰ", 'ω': "ώ", 'σ': "ς", 'и': "й", 'е': "ё",
	} {
		for _, r := range marked {
			m[r] = letter
			m[unicode.ToUpper(r)] = unicode.ToUpper(letter)
		}
	}
	return m
})

// fold is a name without marks, without what cannot be seen, and with the letters
// that are others in another font.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < 0x80:
			return r
		case unicode.In(r, unicode.Cf, unicode.Mn, unicode.Me), r == 0x115F, r == 0x1160, r == 0x3164, r == 0xFFA0, r == 0x2800:
			return -1
		case r >= 0xFF01 && r <= 0xFF5E: // as wide as a CJK character
			return r - 0xFF01 + '!'
		case r >= 0x1D400 && r <= 0x1D6A3: // letters of mathematics
			n := (r - 0x1D400) % 52
			if n < 26 {
				return 'A' + n
			}
			return 'a' + n - 26
		}
		if plain, ok := accents()[r]; ok {
			return plain
		}
		return r
	}, name)
}

// alike are characters that look like a Latin letter.
var alike = map[rune]rune{
	'а': 'a', 'в': 'b', 'с': 'c', 'ԁ': 'd', 'е': 'e', 'һ': 'h', 'і': 'i', 'ј': 'j', 'к': 'k', 'ӏ': 'l', 'м': 'm', 'н': 'h', 'о': 'o', 'р': 'p', 'ԛ': 'q', 'ѕ': 's', 'т': 't', 'у': 'y', 'ѵ': 'v', 'ԝ': 'w', 'х': 'x',
	'А': 'A', 'В': 'B', 'С': 'C', 'Е': 'E', 'Н': 'H', 'І': 'I', 'Ј': 'J', 'К': 'K', 'М': 'M', 'О': 'O', 'Р': 'P', 'Ѕ': 'S', 'Т': 'T', 'У': 'Y', 'Х': 'X',
	'α': 'a', 'ε': 'e', 'ι': 'i', 'κ': 'k', 'ν': 'v', 'ο': 'o', 'ρ': 'p', 'τ': 't', 'υ': 'u', 'ω': 'w', 'ϲ': 'c',
	'Α': 'A', 'Β': 'B', 'Ε': 'E', 'Η': 'H', 'Ι': 'I', 'Κ': 'K', 'Μ': 'M', 'Ν': 'N', 'Ο': 'O', 'Ρ': 'P', 'Τ': 'T', 'Υ': 'Y', 'Χ': 'X',
	'ɑ': 'a', 'ɡ': 'g', 'ɩ': 'i', 'ѡ': 'w', 'ꜱ': 's', 'ʀ': 'r', '0': 'o', '1': 'i', '3': 'e', '4': 'a', '5': 's', '@': 'a', '$': 's', '!': 'i',
}

func lookAlike(r rune) rune {
	if 'a' <= r && r <= 'z' || r == ' ' {
		return r
	}
	if to, ok := alike[r]; ok {
		return to
	}
	return r
}
