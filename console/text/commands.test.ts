import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CommandAccess, commandsFor, type Task, TOOLS, type Tool } from './commands.ts'

const open: CommandAccess = {
  bootstrap: 'localhost:9092',
  security: 'PLAINTEXT',
  mechanism: null,
  url: 'http://localhost:8080',
  apiUser: null,
}
const secure: CommandAccess = {
  bootstrap: 'broker1.example:9093',
  security: 'SASL_SSL',
  mechanism: 'SCRAM-SHA-256',
  url: 'https://broker1.example:8443',
  apiUser: 'ada',
}

function command(tool: Tool, task: Task, access = open): string | null | undefined {
  return commandsFor(task, access).find(recipe => recipe.tool === tool)?.command
}

test('an open broker needs no settings', () => {
  const task: Task = { do: 'produce', topic: 'orders' }
  assert.deepEqual(
    commandsFor(task, open).map(({ tool, command, before }) => [tool, command, before.length]),
    [
      ['ketch', 'ketch produce orders --value=hello', 0],
      ['kcat', 'echo hello | kcat -b localhost:9092 -P -t orders', 0],
      ["Kafka's tools", 'echo hello | kafka-console-producer.sh --bootstrap-server localhost:9092 --topic=orders', 0],
      [
        'curl',
        `curl -H 'content-type: application/json' -d '{"messages":[{"value":{"text":"hello"}}]}' http://localhost:8080/api/v1/topics/orders/messages`,
        0,
      ],
    ],
  )
})

test('a secure broker needs a file or a sign-in before, and no command has a password', () => {
  const recipes = commandsFor({ do: 'consume', topic: 'orders', at: 'earliest' }, secure)
  assert.deepEqual(
    recipes.map(recipe => recipe.command),
    [
      'ketch export orders --url=https://broker1.example:8443 --user=ada',
      'kcat -F client.conf -b broker1.example:9093 -C -t orders -o beginning',
      'kafka-console-consumer.sh --bootstrap-server broker1.example:9093 --consumer.config client.properties --topic=orders --from-beginning',
      'curl -b ketch.cookies https://broker1.example:8443/api/v1/topics/orders/messages/export',
    ],
  )
  assert.deepEqual(
    recipes.map(({ before }) => before.map(step => ('file' in step ? step.file.name : step.command))),
    [
      [],
      ['client.conf'],
      ['client.properties'],
      [
        'login.json',
        `curl -c ketch.cookies -H 'content-type: application/json' -d @login.json https://broker1.example:8443/api/v1/auth/login`,
      ],
    ],
  )
  assert.ok(!JSON.stringify(recipes.map(recipe => recipe.command)).includes('password'))
})

test("Kafka's tools are allowed to ask the token endpoint before they use OAUTHBEARER", () => {
  const recipes = commandsFor({ do: 'list-topics' }, { ...secure, mechanism: 'OAUTHBEARER' })
  const steps = recipes.find(({ tool }) => tool === "Kafka's tools")?.before
  assert.deepEqual(
    steps?.map(step => ('file' in step ? step.file.name : step.command)),
    ['client.properties', "export KAFKA_OPTS='-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=<token endpoint>'"],
  )
})

test('a tool that cannot do a task has no recipe', () => {
  const toolsOf = (task: Task) => commandsFor(task, open).map(recipe => recipe.tool)
  assert.deepEqual(toolsOf({ do: 'list-topics' }), TOOLS)
  assert.deepEqual(toolsOf({ do: 'create-topic', topic: 't' }), ['ketch', "Kafka's tools", 'curl'])
  assert.deepEqual(toolsOf({ do: 'consume', topic: 't', group: 'g' }), ['kcat', "Kafka's tools"])
  assert.deepEqual(toolsOf({ do: 'describe-group', group: 'g' }), ['ketch', "Kafka's tools", 'curl'])
  assert.deepEqual(toolsOf({ do: 'reset-offsets', group: 'g', to: 'clear' }), ['ketch'])
})

test('the remote tier has commands of ketch and curl alone', () => {
  const job = '-Zk3nJxZQ0CqTgk0bKqyXw:0:1200'
  const lines = (task: Task) => {
    const recipes = commandsFor(task, open)
    assert.deepEqual(
      recipes.map(({ tool }) => tool),
      ['ketch', 'curl'],
    )
    return recipes.map(recipe => recipe.command!.replace(' http://localhost:8080/api/v1', ' …'))
  }
  const json = "-H 'content-type: application/json'"
  assert.deepEqual(lines({ do: 'show-remote-storage' }), ['ketch storage remote', 'curl …/storage/remote'])
  assert.deepEqual(lines({ do: 'list-offload-jobs', status: 'failed', topic: 'orders' }), [
    'ketch storage jobs --status=failed --topic=orders',
    `curl 'http://localhost:8080/api/v1/storage/offload-jobs?status=failed&topic=orders'`,
  ])
  assert.deepEqual(lines({ do: 'list-offload-jobs', status: '' })[0], 'ketch storage jobs')
  assert.deepEqual(lines({ do: 'retry-offload-job', job }), [
    `ketch storage retry -- ${job}`,
    `curl ${json} -d '{}' …/storage/offload-jobs/${encodeURIComponent(job)}/retry`,
  ])
  assert.equal(lines({ do: 'cancel-offload-job', job: 'x:0:0' })[0], 'ketch storage cancel x:0:0')
  assert.deepEqual(lines({ do: 'retry-failed-jobs', topic: 'orders' }), [
    'ketch storage retry --all-failed --topic=orders',
    `curl ${json} -d '{"topic":"orders"}' …/storage/offload-jobs/retry-failed`,
  ])
  assert.deepEqual(lines({ do: 'show-segment', topic: '-x', partition: 2, base: 70 }), [
    'ketch storage segments --base=70 -- -x 2',
    'curl …/topics/-x/partitions/2/segments/70',
  ])
})

test('the schema registry has commands of ketch and curl alone', () => {
  const lines = (task: Task) => {
    const recipes = commandsFor(task, open)
    assert.deepEqual(
      recipes.map(({ tool }) => tool),
      ['ketch', 'curl'],
    )
    return recipes.map(recipe => recipe.command!.replace('http://localhost:8080/api/v1/schemas', '…'))
  }
  assert.deepEqual(lines({ do: 'list-subjects', q: '', deleted: 'hide' }), [
    'ketch schemas list --deleted=hide',
    "curl '…/subjects?deleted=hide'",
  ])
  assert.deepEqual(lines({ do: 'list-subjects', q: 'it has' })[0], "ketch schemas list --filter='it has'")
  assert.deepEqual(lines({ do: 'show-schema', subject: 'a/b', version: 3 }), [
    'ketch schemas show a/b 3',
    'curl …/subjects/a%2Fb/versions/3',
  ])
  assert.deepEqual(lines({ do: 'show-schema', subject: '-x', version: 3 })[0], 'ketch schemas show -- -x 3')
  assert.deepEqual(lines({ do: 'compare-schemas', subject: 'a', from: 1, to: 3 }), [
    'ketch schemas diff a 1 3',
    "curl '…/subjects/a/versions/3/diff?against=1'",
  ])
  assert.deepEqual(lines({ do: 'list-judged-topics', q: 'ord', all: true }), [
    'ketch schemas topics --filter=ord --all',
    "curl '…/topics?q=ord&all=true'",
  ])
})

test('a topic is created with its partitions and configs', () => {
  const task: Task = { do: 'create-topic', topic: 'orders', partitions: 3, configs: { 'retention.ms': '60000' } }
  assert.equal(command('ketch', task), 'ketch topics create orders --partitions=3 --config=retention.ms=60000')
  assert.match(command('curl', task)!, /-d '\{"name":"orders","partitions":3,"configs":\{"retention\.ms":"60000"\}\}'/)
})

test('a group begins again at every place that a page offers', () => {
  const at = (to: Extract<Task, { do: 'reset-offsets' }>['to'], topics: readonly string[] = ['orders']): Task => ({
    do: 'reset-offsets',
    group: 'billing',
    topics,
    to,
  })
  const tools = "Kafka's tools"
  const start = 'kafka-consumer-groups.sh --bootstrap-server localhost:9092'
  assert.equal(command(tools, at('clear')), `${start} --delete-offsets --group=billing --topic=orders`)
  assert.equal(
    command(tools, at('earliest', [])),
    `${start} --reset-offsets --group=billing --all-topics --to-earliest --execute`,
  )
  assert.match(command(tools, at({ offset: 42 }))!, /--to-offset=42 --execute$/)
  assert.match(command(tools, at({ timestamp: 0 }))!, /--to-datetime=1970-01-01T00:00:00\.000Z --execute$/)
  assert.equal(command('ketch', at('clear')), 'ketch groups reset billing --topic=orders --to=clear')
  assert.equal(
    command('ketch', at({ offset: 42 })),
    'ketch groups reset billing --topic=orders --to=offset --offset=42',
  )
  assert.equal(command('ketch', at({ timestamp: 5 }, [])), 'ketch groups reset billing --to=timestamp --timestamp=5')
})

test('one record is shown by its partition and offset', () => {
  const task: Task = { do: 'show-record', topic: 'orders', partition: 3, offset: 88 }
  assert.deepEqual(
    commandsFor(task, open).map(recipe => recipe.command),
    [
      'ketch export orders --partition=3 --offset=88 --limit=1',
      'kcat -b localhost:9092 -C -t orders -p 3 -o 88 -c 1 -e -J',
      'kafka-console-consumer.sh --bootstrap-server localhost:9092 --topic=orders --partition=3 --offset=88 --max-messages=1 --property=print.key=true --property=print.headers=true --property=print.timestamp=true',
      'curl http://localhost:8080/api/v1/topics/orders/messages/3/88',
    ],
  )
})

test('a name that a tool cannot take has a reason in place of a command', () => {
  const reasons = (group: string) =>
    Object.fromEntries(commandsFor({ do: 'describe-group', group }, open).map(({ tool, reason }) => [tool, reason]))
  assert.deepEqual(reasons('..'), {
    ketch: 'The name ".." cannot be part of a URL.',
    "Kafka's tools": null,
    curl: 'The name ".." cannot be part of a URL.',
  })
  assert.match(reasons('a\0b')["Kafka's tools"]!, /NUL/)
  assert.equal(reasons('a\0b').curl, null)
  assert.match(reasons('\ud800').curl!, /not Unicode/)
})

test('a name with a dash in front is no option', () => {
  assert.equal(
    command('ketch', { do: 'create-topic', topic: '-x', partitions: 2 }),
    'ketch topics create --partitions=2 -- -x',
  )
  assert.match(
    command('kcat', { do: 'consume', topic: '-x', group: '-g' })!,
    /-G -g -X auto\.offset\.reset=earliest -- -x$/,
  )
})

test('a key goes with its record', () => {
  const task: Task = { do: 'produce', topic: 't', key: "it's", value: 'a:b' }
  assert.equal(command('ketch', task), `ketch produce t --key='it'\\''s' --value=a:b`)
  assert.equal(command('kcat', task), `printf '%s\\n' a:b | kcat -b localhost:9092 -P -t t -k 'it'\\''s'`)
  assert.match(
    command("Kafka's tools", task)!,
    /^printf '%s\\n' 'it'\\''s:a:b' \| .* --property=parse\.key=true --property=key\.separator=:$/,
  )
})

test('a record that a tool would split or leave out has a reason in place of a command', () => {
  const reasons = (task: Omit<Extract<Task, { do: 'produce' }>, 'do' | 'topic'>) =>
    commandsFor({ do: 'produce', topic: 't', ...task }, open).map(({ tool, reason }) => `${tool}: ${reason}`)
  assert.deepEqual(reasons({ value: 'a\nb' }), [
    'ketch: null',
    'kcat: For kcat, a line end begins another record.',
    "Kafka's tools: For Kafka's tools, a line end begins another record.",
    'curl: null',
  ])
  assert.equal(reasons({ value: '' })[1], 'kcat: kcat produces no empty value.')
  assert.match(reasons({ key: ':|;=>\u001f' })[2]!, /every text that could separate/)
})
