// What the page knows of the service: methods by JSON-RPC, and a stream of news. Both need the token, which came with the address that the page was
// opened at. It is kept for this tab alone, and taken out of the address, so that no bookmark has it.
const keepToken = () => {
  const given = /^#token=([\w-]+)$/.exec(location.hash);
  if (!given) return false;
  sessionStorage.setItem("token", given[1]);
  history.replaceState(null, "", "#/");
  return true;
};
const authorization = () => ({ Authorization: "Bearer " + (sessionStorage.getItem("token") ?? "") });

// Why a method has no answer: `data` is the error as all programs are told it.
class Refused extends Error {
  constructor({ message, data }) {
    super(message);
    this.data = data ?? {};
  }
}

let asked = 0;
const ask = async (method, params, signal) => {
  asked += 1;
  const response = await fetch("/rpc", {
    method: "POST",
    headers: { "Content-Type": "application/json", ...authorization() },
    body: JSON.stringify({ jsonrpc: "2.0", id: asked, method, params }),
    signal,
  });
  if (response.status === 401) {
    askForToken();
    throw new Refused({ message: "The service wants the token." });
  }
  if (!response.ok) throw new Refused({ message: await response.text() });
  const answer = await response.json();
  if (answer.error) throw new Refused(answer.error);
  return answer.result;
};

// Hears news for as long as the page is open, and begins again when the service went and came back.
const RETRY = 2000;
const follow = async (heard, lost) => {
  for (;;) {
    try {
      const response = await fetch("/events", { headers: authorization() });
      if (response.ok) await readEvents(response.body.pipeThrough(new TextDecoderStream()).getReader(), heard);
      else if (response.status === 401) return askForToken();
    } catch {
      // The service is not there. That is told, and it is tried again.
    }
    lost();
    await new Promise((resolve) => setTimeout(resolve, RETRY));
  }
};
const readEvents = async (reader, heard) => {
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const events = (text + value).split("\n\n");
    text = events.pop();
    for (const event of events) {
      const data = event.split("\n").find((line) => line.startsWith("data: "));
      if (data) heard(JSON.parse(data.slice("data: ".length)));
    }
  }
};
