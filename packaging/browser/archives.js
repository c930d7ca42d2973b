// Unpacks ZIP, tar and gzip in memory. An error names the archive, and the entry if there is one.
'use strict';

// The files of one drop.
class Unpacked {
  static most = 1.5 * 2 ** 30;  // bytes of all drops

  constructor(sizeBefore = 0) {
    this.files = new Map();  // bytes by path
    this.folders = new Set();
    this.leftOut = [];       // texts: entries that are not kept, and why
    this.size = sizeBefore;  // bytes of all drops
  }

  // `archive` is the name of the archive that holds the file, or "". If `replaces`, a later file takes an earlier one's place.
  add(path, bytes, archive = '', replaces = false) {
    const name = archive ? `${archive}: ${path}` : path;
    const safe = safePath(path, name);
    // macOS adds these to archives.
    if (/(^|\/)(__MACOSX\/|\._|\.DS_Store$)/.test(safe)) return;
    if (this.files.has(safe) && !replaces) {
      this.leftOut.push(`${name}, because another file has this name`);
      return;
    }
    if (this.folders.has(safe)) throw new Error(`${name}: a folder has this name, too; pack the archive again`);
    for (let at = safe.indexOf('/'); at > 0; at = safe.indexOf('/', at + 1)) {
      if (this.files.has(safe.slice(0, at))) throw new Error(`${name}: a file has the name of its folder; pack the archive again`);
      this.folders.add(safe.slice(0, at));
    }
    this.size += bytes.length - (this.files.get(safe)?.length ?? 0);
    if (this.size > Unpacked.most) {
      throw new Error(`${name}: the files are larger than 1.5 GiB together; check fewer at a time, or use strata on a command line`);
    }
    this.files.set(safe, bytes);
  }

  get room() { return Unpacked.most - this.size; }
}

// Returns "a/b" for "/a/./b". Throws Error for a path that leaves its folder.
function safePath(path, name) {
  const parts = path.replaceAll('\\', '/').split('/').filter(part => part !== '' && part !== '.');
  if (parts.includes('..') || path.includes('\0')) throw new Error(`${name}: this path leads out of its folder; pack the archive again`);
  if (parts.length === 0) throw new Error(`${name}: a file has no name; pack the archive again`);
  return parts.join('/');
}

// Returns the bytes of a compressed stream, at most `most`. `format` is "gzip" or "deflate-raw".
async function inflate(bytes, format, name, most) {
  let stream;
  try {
    stream = new DecompressionStream(format);
  } catch (error) {
    throw new Error(`${name}: this browser cannot unpack it; use a newer one, or drop the folder`);
  }
  const chunks = [];
  let size = 0;
  try {
    const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
    for (;;) {
      const {done, value} = await reader.read();
      if (done) break;
      size += value.length;
      if (size > most) {
        await reader.cancel();
        break;
      }
      chunks.push(value);
    }
  } catch (error) {
    throw new Error(`${name}: cannot be unpacked: it is damaged, or has more than one part; copy it again, or drop the folder`);
  }
  if (size > most) throw new Error(`${name}: unpacks to more than ${most} bytes; it is damaged, or too large for this page`);
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

const text = bytes => new TextDecoder().decode(bytes);

// ZIP: PKWARE's APPNOTE.TXT 6.3. The directory at the end names all entries.
async function unzip(bytes, name, into) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const damaged = what => new Error(`${name}: is damaged: ${what}; copy or pack it again`);
  let end = bytes.length - 22;
  while (end >= 0 && end > bytes.length - 22 - 65536 && view.getUint32(end, true) !== 0x06054b50) --end;
  if (end < 0 || view.getUint32(end, true) !== 0x06054b50) throw damaged('the list of its entries is missing');
  const count = view.getUint16(end + 10, true);
  let at = view.getUint32(end + 16, true);
  const listEnd = at + view.getUint32(end + 12, true);
  if (count === 0xffff || at === 0xffffffff) throw new Error(`${name}: is a ZIP64 archive, which this page cannot read; drop the folder`);
  for (let i = 0; i < count; ++i) {
    if (at + 46 > bytes.length || view.getUint32(at, true) !== 0x02014b50) throw damaged(`entry ${i + 1} of ${count} is missing`);
    const flags = view.getUint16(at + 8, true), method = view.getUint16(at + 10, true), crc = view.getUint32(at + 16, true);
    const packed = view.getUint32(at + 20, true), size = view.getUint32(at + 24, true);
    const names = view.getUint16(at + 28, true), rest = view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
    const isLink = (view.getUint32(at + 38, true) >>> 28) === 0xa, header = view.getUint32(at + 42, true);
    const path = text(bytes.subarray(at + 46, at + 46 + names));
    at += 46 + names + rest;
    if (path.endsWith('/')) continue;
    if (isLink) {
      into.leftOut.push(`${name}: ${path}, which is a link`);
      continue;
    }
    if (flags & 1) throw new Error(`${name}: ${path} is encrypted; unpack the archive and drop the folder`);
    if (header + 30 > bytes.length || view.getUint32(header, true) !== 0x04034b50) throw damaged(`${path} is missing`);
    const begin = header + 30 + view.getUint16(header + 26, true) + view.getUint16(header + 28, true);
    if (begin + packed > bytes.length) throw damaged(`${path} is cut off`);
    const content = bytes.subarray(begin, begin + packed);
    if (method !== 0 && method !== 8) throw new Error(`${name}: ${path} is packed by method ${method}, which this page cannot read; drop the folder`);
    const whole = method === 0 ? content : await inflate(content, 'deflate-raw', `${name}: ${path}`, Math.min(size, into.room));
    if (whole.length !== size || crc32(whole) !== crc) throw damaged(`${path} has other bytes than its checksum says`);
    into.add(path, whole, name);
  }
  if (at !== listEnd) throw damaged('the list of its entries has another length than it says');
}

const crcTable = Uint32Array.from({length: 256}, (_, i) => {
  let value = i;
  for (let bit = 0; bit < 8; ++bit) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

function crc32(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crc >>> 8) ^ crcTable[(crc ^ byte) & 255];
  return (crc ^ 0xffffffff) >>> 0;
}

// tar: POSIX.1-2017 (pax), with GNU's long names.
function untar(bytes, name, into) {
  const field = (at, length) => text(bytes.subarray(at, at + length)).split('\0', 1)[0];
  let longName = null, isSparse = false;
  for (let at = 0;;) {
    if (at + 512 > bytes.length) throw new Error(`${name}: is cut off at byte ${bytes.length}; copy the archive again`);
    if (bytes[at] === 0) return;  // empty blocks end the archive
    let sum = 256;               // the checksum's own eight bytes count as blanks
    for (let i = 0; i < 512; ++i) sum += i >= 148 && i < 156 ? 0 : bytes[at + i];
    if (parseInt(field(at + 148, 8), 8) !== sum) throw new Error(`${name}: is damaged at byte ${at}, or is no tar archive`);
    const size = bytes[at + 124] & 128 ? NaN : parseInt(field(at + 124, 12), 8);
    const type = String.fromCharCode(bytes[at + 156]);
    const prefix = field(at + 257, 6) === 'ustar' ? field(at + 345, 155) : '';
    const path = longName ?? (prefix ? `${prefix}/` : '') + field(at, 100);
    const content = bytes.subarray(at + 512, at + 512 + size);
    if (content.length !== size) throw new Error(`${name}: ${path} is cut off; copy the archive again`);
    at += 512 + Math.ceil(size / 512) * 512;
    if (type === 'L') {
      longName = text(content).split('\0', 1)[0];
    } else if (type === 'x') {
      const records = text(content);
      longName = paxPath(content) ?? longName;
      isSparse = records.includes(' GNU.sparse.');
    } else if (!'KVg5'.includes(type)) {  // a link's long name, the archive's label, defaults, a folder
      const isFile = type === '0' || type === '\0';
      const kind = '12'.includes(type) ? 'a link' : isSparse || type === 'S' ? 'packed as a sparse file' : 'neither a file nor a folder';
      if (!isFile || isSparse) into.leftOut.push(`${name}: ${path}, which is ${kind}`);
      else if (!path.endsWith('/')) into.add(path, content, name, true);  // else a folder of an old archive
    }
    if (!'LKx'.includes(type)) {
      longName = null;
      isSparse = false;
    }
  }
}

// Returns the path of an extended header, whose records are "LENGTH KEY=VALUE\n".
function paxPath(bytes) {
  let path = null;
  for (let at = 0; at < bytes.length;) {
    const blank = bytes.indexOf(32, at), length = parseInt(text(bytes.subarray(at, blank)), 10);
    if (blank < 0 || blank - at > 20 || !(length > blank - at)) break;
    const record = text(bytes.subarray(blank + 1, at + length - 1));
    if (record.startsWith('path=')) path = record.slice(5);
    at += length;
  }
  return path;
}

// Adds a file that was dropped, or the files in it if it is an archive. Archives in a folder that was dropped stay as they are.
async function unpack(path, bytes, into) {
  const isTar = content => content.length >= 512 && text(content.subarray(257, 262)) === 'ustar';
  const starts = (...magic) => magic.every((byte, i) => bytes[i] === byte);
  if (path.includes('/')) {
    into.add(path, bytes);
  } else if (starts(0x50, 0x4b, 3, 4) || starts(0x50, 0x4b, 5, 6)) {
    await unzip(bytes, path, into);
  } else if (starts(0x1f, 0x8b)) {
    const whole = await inflate(bytes, 'gzip', path, into.room);
    if (isTar(whole)) untar(whole, path, into);
    else into.add(path.replace(/\.gz$/, ''), whole);
  } else if (starts(0xfd, 0x37, 0x7a, 0x58) || starts(0x42, 0x5a, 0x68) || starts(0x37, 0x7a, 0xbc, 0xaf) || starts(0x28, 0xb5, 0x2f, 0xfd)) {
    throw new Error(`${path}: this page cannot unpack xz, bzip2, 7z and zstd; unpack it and drop the folder`);
  } else if (isTar(bytes)) {
    untar(bytes, path, into);
  } else {
    into.add(path, bytes);
  }
}
