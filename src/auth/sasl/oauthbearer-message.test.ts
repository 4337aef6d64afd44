import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readFirstMessage } from './oauthbearer-message.ts'

const TOKEN = 'aA0-_.bB1.cC2'

/** Takes a message with ^A in place of the separator. */
function read(text: string) {
  return readFirstMessage(Buffer.from(text.replaceAll('^A', '\u0001')))
}

function refusalOf(text: string): string {
  const message = read(text)
  return message.kind === 'bad' ? message.message : `accepted: ${JSON.stringify(message)}`
}

test('a first message of the clients is read: token, authorization id, extensions', () => {
  const message = (authzid: string | null = null) => ({ kind: 'message', token: TOKEN, authzid })
  const rest = `^Aauth=Bearer ${TOKEN}^A^A`
  assert.deepEqual(read(`n,,${rest}`), message())
  assert.deepEqual(read(`n,a=ada,${rest}`), message('ada'))
  assert.deepEqual(read(`n,a=a=2Cb=3Dc d,${rest}`), message('a,b=c d'), '=2C and =3D are written for , and =')
  assert.deepEqual(read(`n,,^Aauth=Bearer ${TOKEN}^Atraceid=123^ALogicalCluster=lkc 1\t\r\n^A^A`), message())
  assert.deepEqual(read(`n,,^Ak=v=w^Aauth=bEARER   ${TOKEN}^A^A`), message(), 'extensions may come first')
})

test('a malformed first message is refused in the words of Apache Kafka', () => {
  const cases: readonly [string, string][] = [
    ['', ''],
    ['^A', ''],
    ['^A^A', ''],
    [`y,,^Aauth=Bearer ${TOKEN}^A^A`, ''],
    [`p=tls-exporter,,^Aauth=Bearer ${TOKEN}^A^A`, ''],
    [`n^Aauth=Bearer ${TOKEN}^A^A`, ''],
    [`n,^Aauth=Bearer ${TOKEN}^A^A`, ''],
    [`n,ada,^Aauth=Bearer ${TOKEN}^A^A`, ''],
    [`n,a=,^Aauth=Bearer ${TOKEN}^A^A`, ''],
    [`n,a=a=b,^Aauth=Bearer ${TOKEN}^A^A`, ''],
    [`n,a=a,b,^Aauth=Bearer ${TOKEN}^A^A`, ''],
    [`n,a=a\n,^Aauth=Bearer ${TOKEN}^A^A`, ''],
    [`n,a=ü,^Aauth=Bearer ${TOKEN}^A^A`, ''],
    [`n,,auth=Bearer ${TOKEN}^A^A`, ''],
    [`n,,^Aauth=Bearer ${TOKEN}^A`, ''],
    [`n,,^Aauth=Bearer ${TOKEN}`, ''],
    [`n,,^Aauth=Bearer ${TOKEN}^A^A^A`, ''],
    [`n,,^Aauth=Bearer ${TOKEN}^A^Ax=y^A^A`, ''],
    [`n,,^Aauth=Bearer ${TOKEN}^A^An,,^Aauth=Bearer ${TOKEN}^A^A`, ''],
    [`N,,^Aauth=Bearer ${TOKEN}^A^A`, ''],
    ['n,,^A^A', ": 'auth' not specified"],
    ['n,,^Atraceid=1^A^A', ": 'auth' not specified"],
    [`n,,^AAuth=Bearer ${TOKEN}^A^A`, ": 'auth' not specified"],
    [`n,,^Aauth=Bearer ${TOKEN}^Aauth=Bearer ${TOKEN}^A^A`, ": 'auth' specified more than once"],
    [`n,,^Aauth=Bearer ${TOKEN}^Aauth=x^A^A`, ": 'auth' specified more than once"],
    [`n,,^Aauth=${TOKEN}^A^A`, ": invalid 'auth' format"],
    ['n,,^Aauth=Bearer ^A^A', ": invalid 'auth' format"],
    [`n,,^Aauth=Bearer\t${TOKEN}^A^A`, ": invalid 'auth' format"],
    [`n,,^Aauth=Bearer ${TOKEN} ${TOKEN}^A^A`, ": invalid 'auth' format"],
    [`n,,^Aauth=Bearer ${TOKEN}+/==^A^A`, ": invalid 'auth' format"],
    [`n,,^Aauth=Basic ${TOKEN}^A^A`, ": the scheme of 'auth' is not Bearer"],
  ]
  for (const [text, detail] of cases) assert.equal(refusalOf(text), `Invalid OAUTHBEARER client first message${detail}`)
})

test('the name of an extension is letters, and its value has no control character except tabs and line ends', () => {
  const pairs = ['1=v', 'a1=v', 'a-b=v', '=v', 'k', 'k=', 'k=\0', 'k=\u0007', 'k=\u007f', 'k=\u001b[31m', 'k=ü', 'ü=v']
  for (const pair of pairs)
    assert.equal(refusalOf(`n,,^Aauth=Bearer ${TOKEN}^A${pair}^A^A`), 'Invalid OAUTHBEARER client first message', pair)
})

test('a token of 16 KB and a message of 64 KB are read, and a larger one is refused before it is decoded', () => {
  const withToken = (bytes: number) => `n,,^Aauth=Bearer ${'a'.repeat(bytes)}^A^A`
  assert.equal(read(withToken(16_384)).kind, 'message')
  assert.match(refusalOf(withToken(16_385)), /: the token has more than 16384 bytes$/)
  const padded = (bytes: number) => {
    const start = `n,,^Aauth=Bearer ${TOKEN}^Ak=`
    return `${start}${'v'.repeat(bytes - start.replaceAll('^A', '.').length - 2)}^A^A`
  }
  assert.equal(read(padded(65_536)).kind, 'message')
  assert.match(refusalOf(padded(65_537)), /: it has more than 65536 bytes$/)
})

test('the refusal of a message repeats no part of it', () => {
  for (const text of [
    'SECRET',
    'n,,^Aauth=SECRET SECRET^A^A',
    'n,,^Aauth=SECRET^A^A',
    'n,a=SECRET,^A^A',
    'n,,^ASECRET^A^A',
  ])
    assert.doesNotMatch(refusalOf(text), /SECRET/)
})
