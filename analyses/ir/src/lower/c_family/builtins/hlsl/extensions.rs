//! Buffers that drivers read as instructions: an access to one is no access to memory. A vendor's header declares it at a
//! register that no application uses, and writes opcodes and operands into it.
//!
//! ```text
//! RWByteAddressBuffer AmdExtD3DShaderIntrinsicsUAV : register(u0, space2147420894);
//! AmdExtD3DShaderIntrinsicsUAV.InterlockedCompareExchange(opcode, 0, 0, result);       one instruction, nobody contends
//! ```

/// The buffers of vendors' headers.
const DRIVER_BUFFERS: [&str; 5] = [
    // NVAPI, nvHLSLExtnsInternal.h.
    "g_NvidiaExt",
    // AMD GPU Services, ags_shader_intrinsics_dx12.hlsl and _dx11.hlsl.
    "AmdExtD3DShaderIntrinsicsUAV",
    "AmdExtD3DShaderIntrinsicsUAV64",
    "AmdDxExtShaderIntrinsicsUAV",
    // Intel, IntelExtensions12.hlsl and IntelExtensions.hlsl.
    "g_IntelExt",
];

/// Returns true if the driver reads a buffer of this name as instructions.
#[must_use]
pub fn is_driver_buffer(name: &str) -> bool {
    DRIVER_BUFFERS.contains(&name)
}
