// What the report and the live page have in common.
const by = (id) => document.getElementById(id);
const made = (name, className, text) => {
  const element = document.createElement(name);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
};
const number = (value) => String(value).replace(/\B(?=(\d{3})+$)/g, ",");
const duration = (micros) => {
  if (micros < 1e3) return micros + " µs";
  if (micros < 1e6) return Math.floor(micros / 1e3) + " ms";
  if (micros < 1e8) return Math.floor(micros / 1e6) + "." + (Math.floor(micros / 1e5) % 10) + " s";
  return Math.floor(micros / 6e7) + " min " + (Math.floor(micros / 1e6) % 60) + " s";
};
const size = (bytes) => {
  if (bytes < 1024) return bytes + " bytes";
  let tenths = Math.floor((bytes * 10) / 1024);
  let unit = 0;
  while (tenths >= 10240 && unit < 3) {
    tenths = Math.floor(tenths / 1024);
    unit += 1;
  }
  return Math.floor(tenths / 10) + "." + (tenths % 10) + " " + ["KiB", "MiB", "GiB", "TiB"][unit];
};
