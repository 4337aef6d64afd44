import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type ClientAccess,
  javaProperties,
  librdkafkaProperties,
  librdkafkaTrouble,
  needsSettings,
} from './client-properties.ts'

const alice: ClientAccess = {
  bootstrap: 'broker1.example:9092',
  security: 'SASL_SSL',
  mechanism: 'SCRAM-SHA-256',
  username: 'alice',
  password: 'correct horse battery',
}

test('the files are those of the guide on securing', () => {
  assert.deepEqual(javaProperties({ ...alice, caFile: 'broker.pem' }), {
    name: 'client.properties',
    content: `bootstrap.servers=broker1.example:9092
security.protocol=SASL_SSL
ssl.truststore.type=PEM
ssl.truststore.location=broker.pem
sasl.mechanism=SCRAM-SHA-256
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username="alice" password="correct horse battery";
`,
  })
  assert.deepEqual(librdkafkaProperties(alice, false), {
    name: 'client.conf',
    content: `security.protocol=sasl_ssl
ssl.ca.location=ca.pem
sasl.mechanisms=SCRAM-SHA-256
sasl.username=alice
sasl.password=correct horse battery
`,
  })
})

test('without a password there is a placeholder', () => {
  const { bootstrap, security } = alice
  const access: ClientAccess = { bootstrap, security, mechanism: 'PLAIN' }
  assert.match(
    javaProperties(access).content,
    /plain\.PlainLoginModule required username="<user>" password="<password>";\n$/,
  )
  assert.match(librdkafkaProperties(access).content, /sasl\.username=<user>\nsasl\.password=<password>\n$/)
})

test('each security has its own settings, and no more', () => {
  const names = (file: { content: string }) =>
    file.content
      .split('\n')
      .slice(0, -1)
      .map(line => line.split('=')[0])
  const of = (security: ClientAccess['security'], mechanism: ClientAccess['mechanism'] = null) => [
    names(javaProperties({ bootstrap: 'b:1', security, mechanism }, false)),
    names(librdkafkaProperties({ bootstrap: 'b:1', security, mechanism }, false)),
  ]
  assert.deepEqual(of('PLAINTEXT'), [['security.protocol'], ['security.protocol']])
  assert.deepEqual(of('SSL', 'PLAIN'), [
    ['security.protocol', 'ssl.truststore.type', 'ssl.truststore.location'],
    ['security.protocol', 'ssl.ca.location'],
  ])
  assert.deepEqual(of('SASL_PLAINTEXT', 'GSSAPI'), [
    ['security.protocol', 'sasl.mechanism', 'sasl.kerberos.service.name', 'sasl.jaas.config'],
    ['security.protocol', 'sasl.mechanisms', 'sasl.kerberos.service.name', 'sasl.kerberos.kinit.cmd'],
  ])
  assert.equal(of('SASL_PLAINTEXT', 'OAUTHBEARER')[0]!.length, 5)
  assert.equal(needsSettings({ security: 'PLAINTEXT' }), false)
  assert.ok(needsSettings({ security: 'SSL' }))
})

test('quotes, backslashes, control characters and letters beyond ASCII are escaped for Java', () => {
  const { content } = javaProperties({ ...alice, username: ' ü"\\', password: '#a\n1=\u{1f600}' }, false)
  // Twice: JAAS escapes the quote and the backslash, and the properties file escapes the backslashes.
  assert.ok(
    content.trimEnd().endsWith(String.raw` username=" \u00fc\\"\\\\" password="#a\\0121=\ud83d\ude00";`),
    content,
  )
})

test('a value that kcat would change is named', () => {
  assert.equal(librdkafkaTrouble('a b=#"'), null)
  assert.match(librdkafkaTrouble(' a')!, /white space/)
  assert.match(librdkafkaTrouble('a\nb')!, /line end/)
})
