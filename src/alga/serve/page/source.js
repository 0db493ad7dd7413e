"use strict";
// Where answers come from: a server, or the recorded outputs of one network in this file.
// Neither adds digits here: every output was written by a network for a prompt.

class Refused extends Error {}

const DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz";

async function asked(path, body) {
  const options = body && { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Refused("the server does not answer");
  }
  if (answer.ok) return answer;
  const said = await answer.json().catch(() => ({}));
  throw new Refused(said.error ?? `the server answers with status ${answer.status}`);
}

const query = (path, values) => {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== null);
  return `${path}?${new URLSearchParams(given)}`;
};

class Server {
  embedded = false;
  models = async () => (await asked("v1/models")).json();
  domain = async (model) => (await asked(query("v1/domain", { model }))).json();
  certificate = async (model) => (await asked(query("v1/certificate", { model }))).json();
  weights = async (model) => (await asked(query("v1/weights", { model }))).json();
  step = async (model, prompt, hurt) => (await asked(query("v1/step", { model, prompt, ...hurt }))).json();
  damage = async (hurt, problem) => (await asked("v1/damage", { ...hurt, problem })).json();
  answer = async (verb, request) => (await asked(`v1/${verb}`, request)).json();

  // Calls `heard` with each server-sent event as it arrives, until that returns false.
  async steps(verb, { operands, model }, heard) {
    const answer = await asked(`v1/${verb}/steps`, { operands, model });
    const reader = answer.body.getReader();
    const decoder = new TextDecoder();
    let waiting = "";
    for (;;) {
      const { value, done } = await reader.read().catch(() => { throw new Refused("the connection broke off"); });
      if (done) return;
      waiting += decoder.decode(value, { stream: true });
      const events = waiting.split("\n\n");
      waiting = events.pop();
      for (const event of events) {
        const [, name, data] = /^event: (\w+)\ndata: (.*)$/s.exec(event);
        if (name === "error") throw new Refused(JSON.parse(data).error);
        if (heard(name, JSON.parse(data)) === false) return reader.cancel();
      }
    }
  }
}

// --- without a server --------------------------------------------------------------------------------------------

// The server's rule for numbers, with the same messages: digits of the base and nothing else.
function number(text, base) {
  const written = base > 10 ? text.toLowerCase() : text;
  if (!written) throw new Refused("a number needs at least one digit, got the empty text");
  const place = [...written].findIndex((char) => !DIGITS.slice(0, base).includes(char));
  if (place >= 0) throw new Refused(`a number has only the digits ${span(base)}, got ${quoted([...written][place])} at position ${place + 1}`);
  return written.replace(/^0+(?=.)/, "");
}

function span(base) {
  if (base === 2) return "0 and 1";
  return base <= 10 ? `0-${base - 1}` : `0-9 and a${base > 11 ? `-${DIGITS[base - 1]}` : ""}`;
}

function quoted(char) {
  if (/[^\p{C}\p{Z}]| /u.test(char)) return char === "'" ? `"'"` : `'${char}'`;
  const code = char.codePointAt(0).toString(16);
  return { "\n": "'\\n'", "\r": "'\\r'", "\t": "'\\t'" }[char] ?? (code.length > 2 ? `'\\u${code.padStart(4, "0")}'` : `'\\x${code.padStart(2, "0")}'`);
}

// The file holds a table (docs/export.md), the domain, each step's inside, and a few damaged copies of the table.
class Embedded {
  embedded = true;

  constructor(content) {
    this.content = content;
    this.places = this.placesOf(content.domain.cells);
  }

  placesOf = (cells) => new Map(cells.map((cell, i) => [cell.prompt, i]));

  models = async () => this.content.models;
  certificate = async (model) => this.of(model).certificate;
  domain = async (model) => this.of(model).domain;
  weights = async () => ({ tensors: {}, favourite: this.content.weight, levels: this.content.levels.map((level) => level.amount) });

  // The network of this file, or one that the file has the answers of.
  of(model) {
    if (model === this.content.domain.model) return this.content;
    const found = this.content.others[model];
    if (!found) throw new Refused(`this file has nothing of ${model}`);
    return found;
  }

  // `cells` has the margins; `broken`: the copy is damaged, so an invalid output is the network's failure, not bad input.
  solve({ table, domain: { model, cells } }, operands, broken = false) {
    const { base, sign } = this.content.models.models[0], places = this.placesOf(cells);
    const rows = operands.map((text) => number(text, base));
    const width = Math.max(...rows.map((row) => row.length));
    if (table.repeats && rows[1].length > 1) throw new Refused(`expected a single digit ${span(base)}, got a number of ${said(rows[1].length)} digits`);
    if (table.repeats) rows[1] = rows[1].repeat(width);
    const digit = (row, i) => row[table.from_right ? i - width + row.length : i] ?? table.fill;
    const steps = [];
    let replies = table.start, before = null, failure = "";
    for (let i = 0; i < width; i++) {
      const place = table.from_right ? width - 1 - i : i;
      const column = rows.map((row) => digit(row, place)).join("");
      const last = i === width - 1;
      const prompt = this.content.prompts[`${before} ${column}`] ?? (before === null ? column : `${before}C${column}`);
      const { expected = null, margin = null } = cells[places.get(prompt)] ?? {};
      if (!replies || !(column in replies)) throw new Refused(`the network knows no column ${column}`);
      const output = replies[column];
      if (output === null) {
        failure = `the network failed at step ${i + 1}: it wrote no output for ${prompt}`;
        steps.push({ prompt, text: "", expected, margin: null, written: null, carry: "" });
        break;
      }
      const written = table.written[output];
      const carry = output.endsWith(written) ? output.slice(0, output.length - written.length) : output.slice(written.length);
      const text = last ? table.ending[output] : written;
      steps.push({ prompt, text: `${output}S`, expected, margin, written: text, carry });
      if (last && text === null) {
        failure = `the last output is ${output}, which cannot end a problem: these numbers have no answer`;
        if (!broken) throw new Refused(failure);
      }
      before = output;
      replies = table.after[output];
    }
    const pieces = steps.map((step) => step.written);
    const answer = failure ? null : (table.from_right ? pieces.reverse() : pieces).join("").replace(/^0+(?=[0-9a-z])/, "");
    const problem = {
      model, task: table.task, sign, rows,
      expression: operands.join(sign), from_right: table.from_right, repeats: table.repeats, columns: width,
    };
    return { problem, steps, answer, failure };
  }

  healthy = (operands, model = this.content.domain.model) => this.solve(this.of(model), operands);
  result = ({ problem, steps, answer, failure }, certified) => ({ answer, failure, engine: "table", model: problem.model, steps: steps.length, certified });

  async answer(verb, { operands }) {
    return this.result(this.healthy(operands), this.content.table.certified);
  }

  async steps(verb, { operands, model }, heard) {
    const { problem, steps, answer } = this.healthy(operands, model || undefined);
    heard("problem", problem);
    heard("steps", steps);
    heard("done", { answer });
  }

  async step(model, prompt, hurt) {
    const place = this.places.get(prompt);
    if (place === undefined || hurt) return null;
    const { vocabulary, input, output, layers, heads, probabilities, attention } = this.content.inside;
    const cell = this.content.domain.cells[place];
    const positions = input + cell.text.length;
    const most = input + output;
    this.bytes ??= [probabilities, attention].map((text) => Uint8Array.from(atob(text), (char) => char.charCodeAt(0)));
    const [surprise, looks] = this.bytes;
    const chance = (i, j) => {
      const at = 2 * ((place * output + i) * vocabulary.length + j);
      return Math.exp(-(surprise[at] + 256 * surprise[at + 1]) / 1000);
    };
    const look = (layer, head, i, j) => looks[(((place * layers + layer) * heads + head) * most + i) * most + j] / 255;
    const some = (count, make) => Array.from({ length: count }, (_, i) => make(i));
    return {
      prompt, text: cell.text, margin: cell.margin, expected: cell.expected, vocabulary,
      tokens: [...prompt.padEnd(input, "P"), "\n", ...cell.text.slice(0, -1)],
      probabilities: some(cell.text.length, (i) => some(vocabulary.length, (j) => chance(i, j))),
      attention: some(layers, (l) => some(heads, (h) => some(positions, (i) => some(positions, (j) => look(l, h, i, j))))),
    };
  }

  async damage({ model, tensor, index, amount }, problem) {
    const { levels, weight, domain, table } = this.content;
    const level = levels.find((level) => level.amount === amount);
    if (model !== domain.model || tensor !== weight.tensor || index !== weight.index || !level) {
      throw new Refused(`this file has copies of ${domain.model} with ${weight.tensor}[${weight.index}] moved by ${levels.map((level) => level.amount).join(", ")} only`);
    }
    const cells = domain.cells.map((cell, i) => ({ ...cell, text: level.texts[i] ?? cell.text, margin: level.margins[i] }));
    const report = { domain: { ...domain, cells }, certificate: level.certificate, example: level.example, weight: level.weight, solved: null };
    if (!problem) return report;
    const healthy = this.healthy(problem.operands), hurt = this.solve({ table: level.table, domain: report.domain }, problem.operands, true);
    report.solved = {
      ...this.result(hurt, level.certificate.certified), problems: [{ ...hurt.problem, steps: hurt.steps, after: "" }],
      healthy: healthy.answer, exact: table.certified ? healthy.answer : null,
    };
    return report;
  }
}

function source() {
  const embedded = document.getElementById("alga-content");
  return embedded ? new Embedded(JSON.parse(embedded.textContent)) : new Server();
}
