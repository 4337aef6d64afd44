// The least that a page can do: it fetches the topics from the address after its `#` and writes one table.

void fetch(location.hash.slice(1))
  .then(found => found.json())
  .then(({ topics }) => {
    const table = document.createElement('table')
    for (const { name, partitions, sizeBytes, cleanupPolicy } of topics) {
      const row = table.insertRow()
      for (const text of [name, partitions, sizeBytes, cleanupPolicy]) row.insertCell().textContent = text
    }
    document.body.append(table)
  })
