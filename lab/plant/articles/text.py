"""What docs/results/plant-seeds.md says around its numbers."""

HEAD = """# The simulated server against published articles

Printed by `python -m lab.plant.articles`; a change of the parameters asks for a new page, and a test says so.
In every cell with two numbers the plant's comes first and the article's second. Ages are checkpoint ages,
the articles' "uncheckpointed bytes". The articles print few numbers and many charts; only printed numbers
and words are compared.

The servers are named scenarios (`innobrim simulate --scenario NAME`). Each file in `lab/scenarios` says
which of its parameters the article gives, which are known from elsewhere, and which are assumed."""

AGES = """
## 1. MySQL 8.0.21 under TPC-C on a SATA SSD

"More on Checkpoints in InnoDB MySQL 8", Percona's blog, August 2020. 100 GB of data in a buffer pool of 140
GB, C = M, 128 doublewrite pages, no adaptive hash index, 32 buffer pool instances.

Two parameters are fitted, on age and throughput at M = 8000 and 7000 with 20 GB of redo, by `python -m
lab.plant.articles --fit`; four numbers decide two parameters:

- `hot_pages`, how many pages the changes fall on: it decides how many changes of a page one write combines,
  and with that the age at which M pages a second are enough. 2.86 million pages are 44 GiB; TPC-C's stock
  and customers, which its transactions change at random, are about half of the 100 GB.
- `commit_seconds`, how fast the server is while no page is written. The article itself gains 5.5 % from a
  setting inside the server (the adaptive hash index), so the device is not the whole limit.

Everything else is from the article, from TPC-C's mix, or the plant's default. The device is the article's:
30,000 writes of 16 KiB a second, 468 MiB/s; a page costs 32 KiB of it, for the doublewrite.

| redo | C = M | used | age, GiB | error | transactions/s | error | pages/s |
|---|---|---|---|---|---|---|---|"""

OTHERS = """
### How much of this hangs on what was assumed

The same two parameters fitted anew with one assumption changed at a time. The three errors in a cell are
those of the predicted rows: M = 6500 with 20 GB, 7000 and 4500 with 40 GB. The first two rows bracket the
7.88 pages a transaction that TPC-C's mix gives.

| assumption | hot pages | commit | largest error in the fit | errors of age | errors of throughput |
|---|---|---|---|---|---|"""

WAVES = """
An even distribution is the plant's default, and stayed: both skewed ones fit worse, and miss the age at
M = 4500 by more than 10 %.

## 2. The waves at 2000/4000

The same server before it is mended: three hours from an empty flush list, as the author's earlier article
describes its runs. Unevenness is the standard deviation of the 20-second means over their mean, in the
first (from 600 s on), second and third hour; the other columns are of the first hour, the period of the
first two. Batch is innodb_doublewrite_pages; commits/s are the lowest and highest of these means; residence
is age over redo rate; age is the highest, in GiB; sync are the sync-flushed of the pages/s. At most is a
limit of 5600 pages/s for a server with 4 doublewrite pages: what the article saw there, given to the plant
and not predicted; without it the plant's own cost of a doublewrite batch counts.

| C/M | batch | at most | unevenness | commits/s | period | residence | age | pages/s | sync | article |
|---|---|---|---|---|---|---|---|---|---|---|"""

DOUBLEWRITE = """
Read from this: at 2000/4000 the simulated server waves, and at 7000 with 128 doublewrite pages it does not.
The waves have a period of about one residence. A clean server becomes dirty within two minutes, so those
pages lie close together in the redo log. The law spreads them when they come due, as it writes at most M
pages a second and begins long before the limit; sync flushing writes them as they come, without regard to
M, and so they come due together again, one residence later. Each time the crowd is a little wider, which is
why the waves die down: within about three hours, as in the earlier article ("Checkpointing in MySQL and
MariaDB", July 2020), which has 7500 transactions/s at the end, where the plant has a tenth more. Up to the
limit the plant writes M pages a second, as the article says of its 4000.

At C = M = 7000 with 4 doublewrite pages the article still has waves and an age above 16.61 GiB. The plant
has them only with the 5600 pages/s given: its own cost of a batch, measured on another device, is too small
here, and with it M = 7000 is enough. How low the waves go cannot be compared: the article has them as a
picture, and with the adaptive hash index.

## 3. Doublewrite pages 4 → 128

"Shock with innodb_doublewrite_pages in MySQL 8.0.20+", January 2026: one thread inserts rows into a table
with many secondary indexes; write operations fall by 55 %, reads by 10 %. The plant: one thread, 1200 write
operations/s, C/M = 200/2000, defaults otherwise, a commit that changes 1 or 10 pages ("many indexes"; how
many is not said). Nothing is fitted.

| pages a commit | write operations per commit | change | article | commits/s | change |
|---|---|---|---|---|---|"""

LADDER = """
The direction is right, and so is the size where a commit changes many pages. Without commits' own writes it
would be -60 %, which is the plant's cost of a batch. Reads are not modelled here.

## 4. The redo ladder of MySQL 5.6

"Adaptive flushing in MySQL 5.6", MySQL Performance Blog, September 2012: MySQL 5.6.6, TPC-C of 250 GB,
buffer pool 150 GB, Fusion-io. In words: larger logs raise throughput; with 2 × 8 GB there is no sharp peak;
5.6 no longer drops to 0, and keeps 1000 transactions in 10 s at its lowest. All figures are in charts, and
the list of options is lost, so C and M are assumed twice; the lowest 20 s are counted from the second
minute on. The ladder's size and the unit of the article's transactions are not comparable; its order is.

| C/M | redo | transactions/s | lowest 20 s | checkpoint age / redo | pages/s | of them sync |
|---|---|---|---|---|---|---|"""

TAIL = """
More redo gives more throughput with both pairs, and no 20 seconds without commits. Whether the real one was
as even between these cannot be seen from here: the article finds it unstable at every size, and the plant
is even once settled. MySQL 5.5, whose throughput fell to 0 for minutes, is no server of the plant's.

## What is outside the model

- The adaptive hash index (5.5 % of throughput in the first article), buffer pool instances (less
  variation), mutexes and latches, processors, the network: `commit_seconds` stands for all of them.
- The change buffer; the first article finds no difference.
- Page cleaner threads, io threads and doublewrite files one by one: `queued_pages` and the cost of a batch
  stand for them.
- The device's own behaviour: garbage collection, caches, a queue of 32.
- TPC-C's kinds of transaction: each commit is the mean one.

## What cannot be reproduced

- The shapes in the charts: waves, single seconds, the small drops at 1-second resolution.
- The absolute throughput at 2000/4000 and with the adaptive hash index: not printed, or outside the model.
- Two other articles of the collection: a draft on redo logs in RAM (its figures are of file placements, and
  its checkpoint section is empty), and patches to MySQL 5.0, which has no adaptive flushing."""
