export { AesSecretBox } from './aes-secret-box.js';
export { createSecretBox, createSecretBoxFromFile } from './encryption-keys.js';
