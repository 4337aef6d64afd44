// Runs the commands of console/text/commands.ts as they are shown, in a shell, with the real tools and a real broker.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type CommandAccess, commandsFor, type Task, type Tool } from '../../console/text/commands.ts'
import { adminClient, signInAt } from '../../testing/admin-client.ts'
import { startBroker } from '../../testing/broker.ts'
import { makeCertificate } from '../../testing/certificate.ts'
import { hasProgram } from '../../testing/programs.ts'
import { toolsAbsence } from '../tools/tools.ts'
import { openCommandShell } from './command-shell.ts'

const missing = ['kcat', 'curl', 'openssl'].find(name => !hasProgram(name))
const skip = missing === undefined ? (toolsAbsence() ?? false) : `SKIPPED e2e/console: apt-get install ${missing}`

const ADMIN_PASSWORD = 'admin password of this test'

interface Shell {
  /** Runs the recipe of the tool with its steps before, and returns its output. `until` ends a command that goes on. */
  run(tool: Tool, task: Task, options?: { until?: RegExp; answersYes?: boolean }): Promise<string>
}

async function openShell(t: TestContext, access: CommandAccess): Promise<Shell> {
  const shell = await openCommandShell(t, ADMIN_PASSWORD)
  return {
    async run(tool, task, { until, answersYes = false } = {}) {
      const recipe = commandsFor(task, access).find(each => each.tool === tool)
      assert.ok(recipe !== undefined && recipe.command !== null, `${tool} has no command: ${recipe?.reason}`)
      for (const step of recipe.before) {
        if ('file' in step) await shell.write(step.file.name, step.file.content.replace('<password>', ADMIN_PASSWORD))
        else await shell.run(step.command)
      }
      // A script answers the question of ketch with this option.
      return await shell.run(answersYes ? recipe.command.replace(' --', ' --yes --') : recipe.command, until)
    },
  }
}

test('the commands for an open broker do what they say with names that a shell would take apart', {
  skip,
  timeout: 180_000,
}, async t => {
  const { port, url } = await startBroker(
    t,
    { 'admin.security-enabled': false, 'mcp.enabled': true },
    { hasHttp: true },
  )
  const bootstrap = `127.0.0.1:${port}`
  const shell = await openShell(t, { bootstrap, url, security: 'PLAINTEXT', mechanism: null, apiUser: null })
  const tools = ['ketch', 'kcat', "Kafka's tools", 'curl'] as const
  const topics = { ketch: '-orders', "Kafka's tools": '-x.y_z', curl: 'plain' }
  for (const [tool, topic] of Object.entries(topics) as [keyof typeof topics, string][])
    await shell.run(tool, { do: 'create-topic', topic, partitions: 2, configs: { 'retention.ms': '60000' } })
  for (const tool of tools) {
    const list = await shell.run(tool, { do: 'list-topics' })
    for (const topic of Object.values(topics)) assert.match(list, new RegExp(`(^|\\W)${topic}(\\W|$)`, 'm'), tool)
  }

  const topic = topics.ketch
  for (const tool of tools) {
    const key = `it's ${tool} $(id) "\\n"`
    await shell.run(tool, { do: 'produce', topic, key, value: `%s\\n \u202E\t* ${tool}` })
  }
  const exported = (await shell.run('ketch', { do: 'consume', topic, at: 'earliest' })).trim().split('\n')
  const records = exported.map(line => JSON.parse(line))
  assert.deepEqual(
    records.map(({ key, value }) => [key.text, value.text]).sort(),
    tools.map(tool => [`it's ${tool} $(id) "\\n"`, `%s\\n \u202E\t* ${tool}`]).sort(),
  )
  const { partition, offset, key } = records[1]
  for (const tool of tools) {
    const shown = await shell.run(tool, { do: 'show-record', topic, partition, offset })
    // One tool writes JSON, the other the text itself.
    assert.ok(shown.includes(key.text) || shown.includes(JSON.stringify(key.text).slice(1, -1)), `${tool}: ${shown}`)
  }

  const admin = adminClient(url)
  const subject = `-it's "$(id)"/value`
  const path = `/api/v1/schemas/subjects/${encodeURIComponent(subject)}/versions`
  for (const doc of ['first', 'second']) {
    const schema = JSON.stringify({ type: 'record', name: 'R', doc, fields: [] })
    assert.equal((await admin.ask('POST', path, { schema })).status, 200)
  }
  for (const tool of ['ketch', 'curl'] as const) {
    assert.match(await shell.run(tool, { do: 'list-subjects', q: 'ID' }), /-it's/, tool)
    assert.match(await shell.run(tool, { do: 'show-schema', subject, version: 1 }), /first/, tool)
    assert.match(await shell.run(tool, { do: 'compare-schemas', subject, from: 1, to: 2 }), /first.*second/s, tool)
    assert.match(await shell.run(tool, { do: 'list-judged-topics', all: true }), /-orders/, tool)
    assert.match(await shell.run(tool, { do: 'show-agent-tools' }), /list_topics/, tool)
  }

  const timestamp = 0
  assert.equal((await shell.run('curl', { do: 'consume', topic, at: { timestamp } })).trim().split('\n').length, 4)
  assert.match(await shell.run('kcat', { do: 'consume', topic, at: { timestamp } }, { until: /curl/ }), /kcat/)

  const group = `-it's "$(id)" \u202E\t\`x\``
  await shell.run('kcat', { do: 'consume', topic, group }, { until: /(\*[^*]*){4}/s })
  for (const tool of ['ketch', "Kafka's tools", 'curl'] as const)
    assert.match(await shell.run(tool, { do: 'describe-group', group }), /-orders/, tool)
  const reset = (to: Extract<Task, { do: 'reset-offsets' }>['to']): Task => ({
    do: 'reset-offsets',
    group,
    topics: [topic],
    to,
  })
  assert.match(await shell.run("Kafka's tools", reset('earliest')), /-orders +0 +0/)
  assert.match(await shell.run("Kafka's tools", reset({ timestamp: 0 })), /-orders +0 +0/)
  assert.match(await shell.run('ketch', reset('latest'), { answersYes: true }), /Reset 2 positions/)
  assert.match(await shell.run("Kafka's tools", reset('clear')), /Successful/)
})

test('the commands for a secure broker work with the files and the sign-in that they name', {
  skip,
  timeout: 180_000,
}, async t => {
  const { certificateFile: caFile, keyFile } = await makeCertificate(t)
  const { port, url } = await startBroker(
    t,
    {
      'broker.tls': true,
      'broker.cert-file': caFile,
      'broker.key-file': keyFile,
      'broker.sasl.enabled': true,
      'broker.sasl.mechanisms': ['SCRAM-SHA-256', 'PLAIN'],
      'admin.password': ADMIN_PASSWORD,
    },
    { hasHttp: true },
  )
  const admin = await signInAt(url, 'admin', ADMIN_PASSWORD)
  // kcat cuts off white space at the ends of a line, and a file of librdkafka has no escapes.
  const password = String.raw`#it's "so" \n = ü; \\ %$x`
  for (const mechanism of ['SCRAM-SHA-256', 'PLAIN'] as const) {
    const username = `al"ice\\${mechanism}`
    const made = await admin.ask('POST', '/api/v1/credentials', { username, mechanism, password })
    assert.equal(made.status, 201, JSON.stringify(made.body))
    const bootstrap = `localhost:${port}`
    const shell = await openShell(t, {
      ...{ bootstrap, url, security: 'SASL_SSL', mechanism, apiUser: 'admin', username, password, caFile },
    })
    const topic = `orders-${mechanism}`
    await shell.run('curl', { do: 'create-topic', topic })
    for (const tool of ['ketch', 'kcat', "Kafka's tools", 'curl'] as const) {
      assert.match(await shell.run(tool, { do: 'list-topics' }), new RegExp(topic), tool)
      await shell.run(tool, { do: 'produce', topic, value: tool })
    }
    for (const [offset, tool] of (['ketch', 'kcat', "Kafka's tools", 'curl'] as const).entries())
      assert.match(await shell.run(tool, { do: 'show-record', topic, partition: 0, offset }), new RegExp(tool))
  }
})
